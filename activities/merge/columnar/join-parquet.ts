import { intOf, listOf, readThrift, structOf, type ThriftStruct, type ThriftValue, writeThrift } from './thrift.ts'

const magic = Buffer.from('PAR1')

/** Ids of the fields of a Parquet footer that say where something is, or how much of it there is. */
const fileField = { rows: 3, rowGroups: 4 } as const
const groupField = { columns: 1, rows: 3, fileOffset: 5, ordinal: 7 } as const
const chunkField = { fileOffset: 2, metadata: 3, offsetIndex: 4, columnIndexLength: 7 } as const
const columnField = { compressedSize: 7, dataPage: 9, indexPage: 10, dictionaryPage: 11 } as const
/** Bloom filters lie behind the row groups, like page indexes; neither is carried over. */
const bloomFilter = { offset: 14, length: 15 } as const

/**
 * Joins Parquet files of one schema to one file: their row groups one after the other, and a footer that knows where each
 * is now. So row groups can be encoded in threads, each on its own.
 */
export class ParquetJoiner {
  #footer: ThriftStruct | undefined
  readonly #rowGroups: ThriftValue[] = []
  #rows = 0n
  #at = 0

  begin(): Uint8Array {
    this.#at = magic.length
    return magic
  }

  /** The row groups of a file, as they lie in the joined one. */
  add(file: Uint8Array): Uint8Array {
    const { footer, pages } = partsOf(file)
    const by = BigInt(this.#at - magic.length)
    for (const group of listOf(footer.get(fileField.rowGroups))) {
      moveRowGroup(structOf(group), by, this.#rowGroups.length)
      this.#rowGroups.push(group)
    }
    this.#rows += intOf(footer.get(fileField.rows)) ?? 0n
    this.#footer ??= footer
    this.#at += pages.length
    return pages
  }

  end(): Uint8Array {
    const footer = this.#footer ?? new Map()
    setInt(footer, fileField.rows, this.#rows)
    const groups = footer.get(fileField.rowGroups)
    if (groups?.type === 'list') groups.value = this.#rowGroups
    const bytes = writeThrift(footer)
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    return Buffer.concat([bytes, length, magic])
  }
}

function partsOf(file: Uint8Array): { footer: ThriftStruct; pages: Uint8Array } {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength)
  const end = bytes.length - magic.length - 4
  const footer = readThrift(bytes.subarray(end - bytes.readUInt32LE(end), end))
  let pagesEnd = magic.length
  for (const group of listOf(footer.get(fileField.rowGroups))) {
    for (const chunk of listOf(structOf(group).get(groupField.columns))) {
      const column = structOf(structOf(chunk).get(chunkField.metadata))
      const start = intOf(column.get(columnField.dictionaryPage)) ?? intOf(column.get(columnField.dataPage)) ?? 0n
      pagesEnd = Math.max(pagesEnd, Number(start + (intOf(column.get(columnField.compressedSize)) ?? 0n)))
    }
  }
  return { footer, pages: bytes.subarray(magic.length, pagesEnd) }
}

function moveRowGroup(group: ThriftStruct, by: bigint, ordinal: number): void {
  addInt(group, groupField.fileOffset, by)
  setInt(group, groupField.ordinal, BigInt(ordinal))
  for (const chunk of listOf(group.get(groupField.columns))) {
    const fields = structOf(chunk)
    addInt(fields, chunkField.fileOffset, by)
    for (let id: number = chunkField.offsetIndex; id <= chunkField.columnIndexLength; id++) fields.delete(id)
    const column = structOf(fields.get(chunkField.metadata))
    for (const id of [columnField.dataPage, columnField.indexPage, columnField.dictionaryPage]) addInt(column, id, by)
    column.delete(bloomFilter.offset)
    column.delete(bloomFilter.length)
  }
}

function addInt(struct: ThriftStruct, id: number, by: bigint): void {
  const field = struct.get(id)
  if (field?.type === 'int' && field.value !== 0n) field.value += by
}

function setInt(struct: ThriftStruct, id: number, value: bigint): void {
  const field = struct.get(id)
  if (field?.type === 'int') field.value = value
}
