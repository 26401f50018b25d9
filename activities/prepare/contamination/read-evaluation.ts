import { createHash } from 'node:crypto'
import type { Decontaminate } from '../../../domain/spec.ts'
import { conversationColumns, conversationReader } from '../../../formats/conversation/read-conversation.ts'
import { cutFile } from '../../../formats/cut-file.ts'
import { decodePiece } from '../../../formats/decode-piece.ts'
import { type SourceFile, SourceNotReadable } from '../../../formats/places/source-file.ts'
import { RowRejected } from '../../../formats/row-rejected.ts'
import type { PrepareSizes } from '../sizes.ts'
import { NgramCollector, type NgramTables } from './ngram-index.ts'

/** What threads need to recognise evaluation data. */
export interface Contamination {
  readonly tables: NgramTables
  /** Hash of the tables: tells whether an earlier scan was checked against the same data. */
  readonly key: string
  /** Files of the evaluation data, and by text number which of them and which row in it. */
  readonly files: readonly string[]
  readonly fileOfText: readonly number[]
  readonly rowOfText: readonly number[]
}

/** Reads evaluation data and indexes what its users say. It has to fit into memory, which benchmarks do. */
export async function readEvaluation(
  options: Decontaminate,
  filesOf: (uri: string) => Promise<SourceFile[]>,
  sizes: PrepareSizes,
): Promise<Contamination> {
  const collector = new NgramCollector(options)
  const files: string[] = []
  const fileOfText: number[] = []
  const rowOfText: number[] = []
  for (const { uri, format, mapping } of options.against) {
    const read = conversationReader({ mapping, orderOptions: (_question, answers) => answers })
    const columns = conversationColumns(mapping)
    const before = fileOfText.length
    for (const file of await filesOf(uri)) {
      const number = files.push(file.uri) - 1
      for await (const piece of cutFile(file, { ...sizes, format })) {
        await decodePiece(piece, { maxRowBytes: sizes.maxRowBytes, columns }, (cursor) => {
          for (const text of userTexts(() => read(cursor.read()).messages)) {
            collector.add(text, fileOfText.push(number) - 1)
            rowOfText.push(cursor.row)
          }
        })
      }
    }
    if (fileOfText.length === before) throw new SourceNotReadable(uri, 'gives no text to decontaminate against')
  }
  const tables = collector.tables()
  const key = createHash('sha256').update(new Uint8Array(tables.slots)).digest('hex')
  return { tables, key, files, fileOfText, rowOfText }
}

/** Rows that say nothing readable are not what a prompt could have been taken from. */
function userTexts(read: () => { role: string; content: string }[]): string[] {
  try {
    return read().flatMap(({ role, content }) => (role === 'user' ? [content] : []))
  } catch (error) {
    if (error instanceof RowRejected) return []
    throw error
  }
}
