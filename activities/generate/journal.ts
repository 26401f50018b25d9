import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { crc32 } from 'node:zlib'

/**
 * The journal of a shard: one line for each prompt that ended, appended and synced in groups; the checkpoint of record.
 *
 *     S 1c291ca3 412 2712 - {"promptId":"…", …}
 *
 * that is: kind, CRC-32 of the rest of the line, input tokens, output tokens, `t` for truncated, and the row as JSON. A
 * journal is written by one dispatch only and never opened for writing again, so a torn last line harms nobody.
 */

/** `S` sample, `F` failure, `A` attempts of a prompt that is left for another engine. */
export type RowKind = 'S' | 'F' | 'A'

export interface JournalRow {
  kind: RowKind
  promptId: string
  inputTokens: number
  outputTokens: number
  isTruncated: boolean
  /** The sample, failure or list of attempts; its first key is `promptId`. */
  json: string
}

/** Where a row lies. */
export interface JournalEntry extends Omit<JournalRow, 'json'> {
  file: string
  /** Of the JSON within the file. */
  start: number
  bytes: number
}

export interface JournalOptions {
  /** A group is synced when it is this old … */
  maxDelayMs: number
  /** … or has this many rows. */
  maxRows: number
}

export const journalDefaults: JournalOptions = { maxDelayMs: 1_000, maxRows: 32 }

export class Journal {
  #group: string[] = []
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #failure: unknown
  #syncedBytes = 0

  private constructor(
    readonly file: string,
    private readonly handle: FileHandle,
    private readonly options: JournalOptions,
  ) {}

  /** Starts a journal. Fails when the file is there: no two dispatches share one. */
  static async create(file: string, options: JournalOptions = journalDefaults): Promise<Journal> {
    return new Journal(file, await open(file, 'ax'), options)
  }

  /** Bytes that are on disk for sure; always whole lines. */
  get syncedBytes(): number {
    return this.#syncedBytes
  }

  /** Adds a row to the current group. Throws what an earlier write failed with, so that no row is lost in silence. */
  append(row: JournalRow): void {
    if (this.#failure) throw this.#failure
    this.#group.push(encodeRow(row))
    if (this.#group.length >= this.options.maxRows) this.#commitGroup()
    else this.#timer ??= setTimeout(() => this.#commitGroup(), this.options.maxDelayMs)
  }

  /** Waits until everything appended so far is on disk. Throws what writing failed with. */
  async flush(): Promise<void> {
    this.#commitGroup()
    await this.#writing
    if (this.#failure) throw this.#failure
  }

  async close(): Promise<void> {
    try {
      await this.flush()
    } finally {
      await this.handle.close()
    }
  }

  #commitGroup(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#group.length === 0) return
    const lines = Buffer.from(this.#group.join(''))
    this.#group = []
    this.#writing = this.#writing
      .then(() => this.#write(lines))
      .catch((error) => {
        this.#failure ??= error
      })
  }

  async #write(lines: Buffer): Promise<void> {
    if (this.#failure) return
    await this.handle.appendFile(lines)
    await this.handle.datasync()
    this.#syncedBytes += lines.length
  }
}

/** All whole rows of a journal, in the order of writing; a torn or damaged line is passed over. */
export async function* readJournal(file: string): AsyncGenerator<JournalEntry> {
  const lines = createInterface({ input: createReadStream(file, 'latin1'), crlfDelay: Number.POSITIVE_INFINITY })
  let start = 0
  for await (const line of lines) {
    const entry = decodeLine(line, file, start)
    if (entry) yield entry
    start += line.length + 1
  }
}

/** Entries with their JSON, in the order given; each file is opened once. */
export async function* readEntries(
  entries: Iterable<JournalEntry>,
): AsyncGenerator<{ entry: JournalEntry; json: Buffer }> {
  const handles = new Map<string, FileHandle>()
  try {
    for (const entry of entries) {
      const handle = handles.get(entry.file) ?? (await open(entry.file))
      handles.set(entry.file, handle)
      const json = Buffer.allocUnsafe(entry.bytes)
      const { bytesRead } = await handle.read(json, 0, entry.bytes, entry.start)
      if (bytesRead !== entry.bytes) throw new Error(`${entry.file}: the row of prompt ${entry.promptId} is cut short`)
      yield { entry, json }
    }
  } finally {
    for (const handle of handles.values()) await handle.close()
  }
}

function encodeRow({ kind, inputTokens, outputTokens, isTruncated, json }: JournalRow): string {
  const rest = `${inputTokens} ${outputTokens} ${isTruncated ? 't' : '-'} ${json}`
  return `${kind} ${crc32(rest).toString(16).padStart(8, '0')} ${rest}\n`
}

const linePattern = /^([SFA]) ([0-9a-f]{8}) ((\d+) (\d+) ([t-]) )\{"promptId":"([^"]+)"/

/** `line` holds bytes, one a character. */
function decodeLine(line: string, file: string, lineStart: number): JournalEntry | undefined {
  const match = linePattern.exec(line)
  if (!match) return undefined
  const [, kind, crc, header = '', inputTokens, outputTokens, flag, promptId = ''] = match
  const restStart = 'S 00000000 '.length
  const rest = Buffer.from(line.slice(restStart), 'latin1')
  if (crc32(rest).toString(16).padStart(8, '0') !== crc) return undefined
  return {
    kind: kind as RowKind,
    promptId,
    inputTokens: Number(inputTokens),
    outputTokens: Number(outputTokens),
    isTruncated: flag === 't',
    file,
    start: lineStart + restStart + header.length,
    bytes: rest.length - header.length,
  }
}
