import { OpenScratchFiles } from '../../../shuffle/scratch-files.ts'
import { SpillWriter } from '../../../shuffle/spill-writer.ts'
import { findNear } from '../near/find-near.ts'
import { blockEncoder } from '../output/block-encoder.ts'
import { blockTask } from './encode-block.ts'
import { findDuplicates } from './find-duplicates.ts'
import type { FlushedThread, MergeContext, MergeTasks } from './merge-task-types.ts'
import { orderSplits } from './order-split.ts'
import { batchScanner } from './scan-batch.ts'

/** The tasks of one thread. */
export interface ThreadTasks extends Omit<MergeTasks, 'flush'> {
  flush(): Promise<FlushedThread>
  close(): void
}

/** The tasks as one thread runs them: one after the other. Its files are called by its name. */
export function mergeTasks(context: MergeContext, name: string): ThreadTasks {
  const { folder, options, sizes } = context
  const spills = new SpillWriter(folder, name, options.seed, sizes.spillBytes, true)
  const { scanBatch, flush } = batchScanner(context, name, spills)
  const open = new OpenScratchFiles()
  return {
    scan: (batch) => scanBatch(batch),
    flush: async () => flush(),
    findDuplicates: async (input) => findDuplicates(input, context),
    findNear: async (input) => findNear(input, context),
    order: async (input) => orderSplits(input, context),
    encode: blockTask(context, blockEncoder(context.output), open),
    close: () => open.close(),
  }
}
