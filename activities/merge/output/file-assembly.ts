import type { Column } from '../../../domain/columns.ts'
import type { Output } from '../../../domain/dataset.ts'
import { endOfStream } from '../columnar/encode-columns.ts'
import { ParquetJoiner } from '../columnar/join-parquet.ts'
import { schemaBytes } from './block-encoder.ts'

/** Puts encoded blocks together to a file. One for each file. */
export interface FileAssembly {
  /** What comes before the first block. */
  begin(): Uint8Array
  /** A block as it lies in the file. */
  add(block: Uint8Array): Uint8Array
  /** What comes after the last block. */
  end(): Uint8Array
}

const nothing = new Uint8Array(0)

export function fileAssembly({ format }: Output, columns: readonly Column[]): () => FileAssembly {
  switch (format) {
    case 'jsonl':
      return () => ({ begin: () => nothing, add: (block) => block, end: () => nothing })
    case 'arrow':
      return () => ({ begin: () => schemaBytes(columns), add: (block) => block, end: () => endOfStream })
    case 'parquet':
      return () => new ParquetJoiner()
  }
}
