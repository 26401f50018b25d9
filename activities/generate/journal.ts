import { type FileHandle, open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

/**
 * The journal of a shard: one line for each prompt that ended; the checkpoint of record.
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
  /** Rows are synced to the disk when the oldest of them is this old … */
  maxDelayMs: number
  /** … or when they are so many. */
  maxRows: number
}

export const journalDefaults: JournalOptions = { maxDelayMs: 1_000, maxRows: 32 }

/**
 * Rows are handed to the system at once, so that a killed process loses none, and synced in groups, so that a power cut loses
 * a second at most.
 */
export class Journal {
  #unwritten: Buffer[] = []
  #unsyncedRows = 0
  #writtenBytes = 0
  #syncedBytes = 0
  #timer: NodeJS.Timeout | undefined
  /** Ends when everything that was appended before it began has been written, or synced. */
  #writing: Promise<void> | undefined
  #syncing: Promise<void> | undefined
  #failure: { error: unknown } | undefined

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

  /** Adds a row. Throws what an earlier write failed with, so that no row is lost in silence. */
  append(row: JournalRow): void {
    if (this.#failure) throw this.#failure.error
    this.#unwritten.push(encodeRow(row))
    this.#unsyncedRows += 1
    this.#writing ??= this.#write()
    if (this.#unsyncedRows >= this.options.maxRows) this.#syncing ??= this.#sync()
    else
      this.#timer ??= setTimeout(() => {
        this.#syncing ??= this.#sync()
      }, this.options.maxDelayMs)
  }

  /** Waits until everything appended so far is on disk. Throws what writing failed with. */
  async flush(): Promise<void> {
    await this.#syncing
    this.#syncing ??= this.#sync()
    await this.#syncing
    if (this.#failure) throw this.#failure.error
  }

  async close(): Promise<void> {
    try {
      await this.flush()
    } finally {
      await this.handle.close()
    }
  }

  /** Writes what there is, and what came in meanwhile, in as few calls as the disk allows. */
  async #write(): Promise<void> {
    try {
      while (this.#unwritten.length > 0 && !this.#failure) {
        const lines = Buffer.concat(this.#unwritten)
        this.#unwritten = []
        await this.handle.appendFile(lines)
        this.#writtenBytes += lines.length
      }
    } catch (error) {
      this.#failure ??= { error }
    } finally {
      this.#writing = undefined
    }
  }

  async #sync(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#unsyncedRows = 0
    try {
      await this.#writing
      const written = this.#writtenBytes
      if (written > this.#syncedBytes) await this.handle.datasync()
      this.#syncedBytes = written
    } catch (error) {
      this.#failure ??= { error }
    } finally {
      this.#syncing = undefined
    }
  }
}

function encodeRow({ kind, inputTokens, outputTokens, isTruncated, json }: JournalRow): Buffer {
  const rest = Buffer.from(`${inputTokens} ${outputTokens} ${isTruncated ? 't' : '-'} ${json}\n`)
  const checksum = crc32(rest.subarray(0, -1)).toString(16).padStart(8, '0')
  return Buffer.concat([Buffer.from(`${kind} ${checksum} `), rest])
}
