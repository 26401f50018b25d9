import type { Column } from '../../../domain/columns.ts'
import { type DatasetFile, datasetKeys } from '../../../domain/dataset.ts'
import { mapInOrder } from '../../../shuffle/map-in-order.ts'
import { publish } from '../../../store/publish.ts'
import type { ObjectStore } from '../../../store/store.ts'
import type { EncodedBlock, MergeContext, MergeTasks } from '../shuffle/merge-task-types.ts'
import { SharedBlocks } from '../shuffle/shared-blocks.ts'
import type { ShuffledRows } from '../shuffle/shuffle-rows.ts'
import { type Block, cutBlocks, spaceBytes } from './cut-blocks.ts'
import { type FileAssembly, fileAssembly } from './file-assembly.ts'

export interface WriteIo {
  readonly tasks: MergeTasks
  readonly threads: number
  readonly store: ObjectStore
  readonly version: number
  readonly signal?: AbortSignal
  onRows(rows: number): void
}

/** Files of a version, and what is in them, counted as they were written. */
export interface WrittenFiles {
  readonly files: DatasetFile[]
  /** Conversations whose tokens were counted, and how many tokens those are. */
  readonly tokens: { rows: number; tokens: number }
  /** Of the rows before encoding. */
  readonly textBytes: number
}

/** Writes rows into the files of a version. Each is written once. */
export async function writeFiles(
  context: MergeContext,
  shuffled: ShuffledRows,
  columns: readonly Column[],
  io: WriteIo,
): Promise<WrittenFiles> {
  const { folder, options } = context
  const spills = shuffled.spills.map(({ name, sources }) => ({ name, sources }))
  const spaces = new SharedBlocks(spaceBytes(context.output))
  const blocks = mapInOrder(
    cutBlocks(folder, shuffled.ranges, { ...options, ...context.output }),
    io.threads + 1,
    async (block) => ({
      ...block,
      encoded: await io.tasks.encode({ spills, stretches: block.stretches, columns, space: spaces.take() }),
    }),
  )
  const files: DatasetFile[] = []
  const tokens = { rows: 0, tokens: 0 }
  let textBytes = 0
  const begin = fileAssembly(context.output, columns)
  const take = (encoded: EncodedBlock) => {
    for (const [source, rows] of Object.entries(encoded.sources)) shuffled.accounts.addMerged(Number(source), rows)
    tokens.rows += encoded.rowsWithTokens
    tokens.tokens += encoded.tokens
    textBytes += encoded.textBytes
    io.onRows(encoded.rows)
  }
  try {
    for (let first = await blocks.next(); !first.done; first = await blocks.next()) {
      io.signal?.throwIfAborted()
      files.push(await writeFile(first.value, blocks, { begin, take, spaces }, context, io))
    }
  } finally {
    await blocks.return(undefined)
  }
  return { files, tokens, textBytes }
}

type Encoded = Block & { encoded: EncodedBlock }

async function writeFile(
  first: Encoded,
  rest: AsyncGenerator<Encoded>,
  { begin, take, spaces }: { begin: () => FileAssembly; take: (encoded: EncodedBlock) => void; spaces: SharedBlocks },
  { splits, output }: MergeContext,
  { store, version, signal }: WriteIo,
): Promise<DatasetFile> {
  const assembly = begin()
  let rows = 0
  async function* body(): AsyncGenerator<Uint8Array> {
    yield assembly.begin()
    for (let block = first; ; ) {
      take(block.encoded)
      rows += block.encoded.rows
      yield assembly.add(block.encoded.bytes)
      // The store is done with it as soon as it asks for more.
      spaces.give(block.encoded.bytes)
      if (block.isLastOfPart) break
      const next = await rest.next()
      if (next.done) throw new Error('The rows end in the middle of a file.')
      block = next.value
    }
    yield assembly.end()
  }
  const split = splits[first.split] ?? ''
  const { part, parts, isOnlySplit } = first
  const key = datasetKeys.file(version, { split, isOnlySplit, ...output, part, parts })
  const { info, sha256 } = await publish(store, key, body(), { signal })
  return { key, split, rows, bytes: info.bytes, sha256 }
}
