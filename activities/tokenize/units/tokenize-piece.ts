import type { LeftOutRow } from '../../../domain/left-out.ts'
import type { RowShape } from '../../../domain/row-shape.ts'
import type { Sample } from '../../../domain/sample.ts'
import type { TokenizeOptions } from '../../../domain/tokenize-spec.ts'
import { addTokens, noTokens, type SourceTokens } from '../../../domain/tokenized.ts'
import { conversationColumns } from '../../../formats/conversation/read-conversation.ts'
import { decodePiece } from '../../../formats/decode-piece.ts'
import type { Piece } from '../../../formats/pieces.ts'
import { RowRejected } from '../../../formats/row-rejected.ts'
import { forEachSpan, isBlankSpan } from '../../../formats/text/spans.ts'
import { decodeRaw, memberOf, parseRaw, type RawNode, RawSyntax } from '../../merge/rows/raw-json.ts'
import {
  conversationOfRow,
  conversationOfSample,
  type ReadConversation,
  unnamedSource,
} from '../rows/conversation-of.ts'
import { fitLength, type TokenSequence } from '../rows/fit-length.ts'
import { RowLeftOut } from '../rows/row-left-out.ts'
import { rowsFromIds } from '../rows/rows-from-ids.ts'
import { supervisedTokens } from '../rows/token-row.ts'
import { type ReadModel, tokenizeConversation } from '../rows/tokenize-conversation.ts'
import { checkDecodedText, checkDecodedTurns } from './check-decoded.ts'
import type { RowPacker } from './packed-rows.ts'
import { turnsWithIds } from './raw-ids.ts'

/** What a unit's rows are, and how they are to become tokens. */
export interface PieceContext {
  /** Key of the file. */
  readonly file: string
  readonly kind: 'samples' | 'rows'
  /** How the rows hold a conversation, where they are no samples. */
  readonly shape?: RowShape
  readonly options: Pick<TokenizeOptions, 'maxLength' | 'overlong' | 'templateKwargs'>
  /** Every so many-th row is decoded again and held against its text. */
  readonly checkEvery: number
  readonly maxRowBytes: number
}

/** What came of a piece, besides the packed rows. */
export interface TokenizedPiece {
  rowsRead: number
  sources: Record<string, SourceTokens>
  leftOut: LeftOutRow[]
}

/** Tokenizes the rows of a piece of a file, in their order. Throws `BadFile`. */
export async function tokenizePiece(
  piece: Piece,
  context: PieceContext,
  model: ReadModel,
  packer: RowPacker,
): Promise<TokenizedPiece> {
  const worker = new PieceWorker(context, model, packer)
  if (piece.kind === 'json' && context.kind === 'samples') {
    const bytes = Buffer.from(piece.bytes.buffer, piece.bytes.byteOffset, piece.bytes.length)
    const starts: [start: number, end: number, row: number][] = []
    forEachSpan(piece.spans, (start, end, n) => {
      if (!isBlankSpan(bytes, start, end)) starts.push([start, end, piece.firstRow + n])
    })
    for (const [start, end, row] of starts) await worker.sample(bytes, start, end, row)
    return worker.result
  }
  const toConversation = conversationOfRow(context.shape)
  const columns = columnsOf(context.shape)
  const read: ReadRow[] = []
  const settle = async () => {
    for (const row of read.splice(0)) await worker.row(row)
  }
  await decodePiece(piece, { maxRowBytes: context.maxRowBytes, columns, settle }, (cursor) => {
    read.push({ row: cursor.row, conversation: attempt(() => toConversation(cursor.read())) })
  })
  await settle()
  return worker.result
}

interface ReadRow {
  row: number
  conversation: ReadConversation | RowLeftOut
}

function attempt(work: () => ReadConversation): ReadConversation | RowLeftOut {
  try {
    return work()
  } catch (error) {
    if (error instanceof RowLeftOut) return error
    if (error instanceof RowRejected) return new RowLeftOut('unreadable', error.message)
    throw error
  }
}

class PieceWorker {
  readonly result: TokenizedPiece = { rowsRead: 0, sources: {}, leftOut: [] }

  constructor(
    private readonly context: PieceContext,
    private readonly model: ReadModel,
    private readonly packer: RowPacker,
  ) {}

  /** A line with a sample. */
  async sample(bytes: Buffer, start: number, end: number, row: number): Promise<void> {
    let sample: RawNode
    let known: { promptId: string; source: string }
    try {
      sample = parseRaw(bytes, start, end)
      known = { promptId: textIn(bytes, sample, 'promptId'), source: textIn(bytes, sample, 'source') }
    } catch (error) {
      if (!(error instanceof RawSyntax) && !(error instanceof SyntaxError)) throw error
      this.#leaveOut(row, { source: unnamedSource }, new RowLeftOut('unreadable', error.message))
      return
    }
    const turns = turnsWithIds(bytes, sample)
    if (!turns) {
      const whole = decodeRaw(bytes, sample) as Sample
      await this.#make(row, known, 'text', () => this.#fromText(row, conversationOfSample(whole)))
      return
    }
    await this.#make(row, known, 'ids', async () => {
      const sequences = rowsFromIds(turns, { idLimit: this.model.tokens.idLimit, endIds: this.model.endIds })
      if (this.#isChecked(row)) await checkDecodedTurns(textsOf(bytes, sample), turns, this.model)
      return sequences
    })
  }

  /** A row of a dataset. */
  async row({ row, conversation }: ReadRow): Promise<void> {
    if (conversation instanceof RowLeftOut) this.#leaveOut(row, { source: unnamedSource }, conversation)
    else await this.#make(row, conversation, 'text', () => this.#fromText(row, conversation))
  }

  async #fromText(row: number, conversation: ReadConversation): Promise<TokenSequence[]> {
    const sequences = await tokenizeConversation(conversation, this.model, this.context.options)
    if (this.#isChecked(row)) for (const sequence of sequences) await checkDecodedText(sequence, this.model)
    return sequences
  }

  async #make(
    row: number,
    known: { promptId: string; source: string },
    by: 'ids' | 'text',
    sequences: () => Promise<TokenSequence[]>,
  ): Promise<void> {
    try {
      const fitted = (await sequences()).map((sequence) => ({ sequence, pieces: this.#fit(sequence) }))
      const failed = fitted.flatMap(({ pieces }) => (pieces instanceof RowLeftOut ? [pieces] : []))
      if (failed[0] && failed.length === fitted.length) throw failed[0]
      const figures = { ...noTokens(), read: 1, partsLeftOut: failed.length }
      for (const { sequence, pieces } of fitted) {
        if (!(pieces instanceof RowLeftOut)) this.#add(known, sequence, pieces, figures)
      }
      if (by === 'ids') figures.rowsWithIds = figures.rows
      this.result.rowsRead++
      this.#count(known.source, figures)
    } catch (error) {
      if (!(error instanceof RowLeftOut)) throw error
      this.#leaveOut(row, known, error)
    }
  }

  #fit(sequence: TokenSequence): TokenSequence[] | RowLeftOut {
    try {
      return fitLength(sequence, this.context.options)
    } catch (error) {
      if (error instanceof RowLeftOut) return error
      throw error
    }
  }

  #add(
    { promptId, source }: { promptId: string; source: string },
    sequence: TokenSequence,
    pieces: readonly TokenSequence[],
    figures: SourceTokens,
  ): void {
    const { maxLength, overlong } = this.context.options
    if (overlong === 'cut' && sequence.ids.length > maxLength) figures.cut++
    for (const { ids, spans } of pieces) {
      this.packer.add({ promptId, source, part: figures.rows, ids, spans })
      figures.rows++
      figures.tokens += ids.length
      figures.supervised += supervisedTokens(spans)
      figures.longest = Math.max(figures.longest, ids.length)
    }
  }

  #leaveOut(row: number, known: { promptId?: string; source: string }, { reason, found }: RowLeftOut): void {
    const { promptId, source } = known
    this.result.rowsRead++
    this.#count(source, { ...noTokens(), read: 1, leftOut: { [reason]: 1 } })
    this.result.leftOut.push({ file: this.context.file, row, ...(promptId && { promptId }), source, reason, found })
  }

  #count(source: string, figures: SourceTokens): void {
    const sum = this.result.sources[source] ?? noTokens()
    this.result.sources[source] = sum
    addTokens(sum, figures)
  }

  #isChecked(row: number): boolean {
    return row % this.context.checkEvery === 0
  }
}

function textIn(bytes: Buffer, sample: RawNode, name: string): string {
  const node = memberOf(sample, name)
  if (node?.kind !== 'string') throw new SyntaxError(`it has no ${name}`)
  return decodeRaw(bytes, node) as string
}

function textsOf(bytes: Buffer, sample: RawNode): string[] {
  return (memberOf(sample, 'turns')?.items ?? []).map((turn) => textIn(bytes, turn, 'text'))
}

/** The columns of a binary format that anything is wanted of. */
function columnsOf(shape: RowShape | undefined): Set<string> {
  const named = [shape?.turns?.column, shape?.prompt, shape?.answer, shape?.system, shape?.tools?.column]
  const own = ['promptId', 'source', 'provenance', 'truncated', 'finishReason']
  return new Set([...conversationColumns(), ...own, ...named.filter((name) => name !== undefined)])
}
