import { OpenScratchFiles } from '../../../shuffle/scratch-files.ts'
import { SpillWriter } from '../../../shuffle/spill-writer.ts'
import { findNear } from '../near/find-near.ts'
import { blockEncoder } from '../output/block-encoder.ts'
import { blockTask } from './encode-block.ts'
import { findDuplicates } from './find-duplicates.ts'
import type { MergeContext, MergeTasks } from './merge-task-types.ts'
import { orderSplits } from './order-split.ts'
import { batchScanner } from './scan-batch.ts'

/** The tasks as one thread runs them: one after the other. */
export function mergeTasks(context: MergeContext): MergeTasks & { close(): void } {
  const { folder, options, sizes } = context
  const spills = new SpillWriter(folder, 'batch', options.seed, sizes.spillBytes, true)
  const scanBatch = batchScanner(context, spills)
  const open = new OpenScratchFiles()
  return {
    scan: async ({ batch, pieces }) => scanBatch(batch, pieces),
    findDuplicates: async (input) => findDuplicates(input, context),
    findNear: async (input) => findNear(input, context),
    order: async (input) => orderSplits(input, context),
    encode: blockTask(context, blockEncoder(context.output), open),
    close: () => open.close(),
  }
}
