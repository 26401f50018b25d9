import type { Spec } from '../../domain/spec.ts'
import type { DrawLimit } from '../../shuffle/draw.ts'
import { type GatheredRows, gatherRows } from '../../shuffle/gather-rows.ts'
import { type OrderedRange, orderRange } from '../../shuffle/order-rows.ts'
import { type Spill, SpillWriter } from '../../shuffle/spill-writer.ts'
import type { Contamination } from './contamination/read-evaluation.ts'
import { promptMaker } from './make-prompt.ts'
import type { Banding } from './near-duplicates/min-hash.ts'
import { type Sketch, sketchSlice } from './near-duplicates/sketch-slice.ts'
import { type FilePiece, type ScannedBatch, scanBatch } from './scan-batch.ts'
import type { PrepareSizes } from './sizes.ts'
import { estimator, modelCounter } from './token-count.ts'

/** What every thread knows from its start. */
export interface TaskContext {
  readonly folder: string
  readonly spec: Spec
  readonly sizes: PrepareSizes
  readonly contamination: Contamination | undefined
}

/** The CPU-heavy steps, each a pure function of its input and the scratch files that it names. */
export interface PrepareTasks {
  scan(input: { batch: number; pieces: readonly FilePiece[] }): Promise<ScannedBatch>
  order(input: {
    spills: readonly Spill[]
    fromStep: number
    toStep: number
    withoutGroups: readonly number[]
  }): Promise<OrderedRange>
  sketch(input: {
    spills: readonly Pick<Spill, 'name'>[]
    range: string
    firstPlace: number
    places: number
    banding: Banding
  }): Promise<Sketch>
  gather(input: {
    spills: readonly Pick<Spill, 'name'>[]
    range: string
    firstPlace: number
    places: number
    limits: ReadonlyMap<number, DrawLimit>
  }): Promise<GatheredRows>
}

export function prepareTasks({ folder, spec, sizes, contamination }: TaskContext): PrepareTasks {
  const tokens = spec.tokenizer === undefined ? estimator : modelCounter(spec.tokenizer)
  const makers = spec.sources.map((source) => promptMaker(source, { spec, tokens, contamination }))
  const spills = new SpillWriter(folder, 'batch', spec.seed, sizes.spillBytes)
  return {
    scan: ({ batch, pieces }) => scanBatch(batch, pieces, { folder, maxRowBytes: sizes.maxRowBytes, spills, makers }),
    order: async (input) => orderRange({ ...input, folder, dedupe: true, sliceBytes: sizes.sliceBytes }),
    sketch: async ({ banding, ...input }) => sketchSlice({ ...input, folder }, banding),
    gather: async (input) => gatherRows({ ...input, folder }),
  }
}
