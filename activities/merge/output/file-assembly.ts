import type { MergeContext } from '../shuffle/merge-task-types.ts'

/** Puts encoded blocks together to a file. One for each file. */
export interface FileAssembly {
  /** What comes before the first block. */
  begin(): Uint8Array
  /** A block as it lies in the file. */
  add(block: Uint8Array): Uint8Array
  /** What comes after the last block. */
  end(): Uint8Array
}

export type StartAssembly = () => FileAssembly

const nothing = new Uint8Array(0)

/** Text, compressed or not: blocks follow one another. */
const textAssembly: FileAssembly = { begin: () => nothing, add: (block) => block, end: () => nothing }

export function fileAssembly({ output: { format } }: Pick<MergeContext, 'output'>): StartAssembly {
  if (format !== 'jsonl') throw new Error(`${format} is not written yet`)
  return () => textAssembly
}
