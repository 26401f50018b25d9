import { type FileHandle, open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import type { JournalEntry, RowKind } from './journal.ts'

const chunkBytes = 1 << 20
const newline = 10

/** All whole rows of a journal, in the order of writing; a torn or damaged line is passed over. */
export async function* readJournal(file: string): AsyncGenerator<JournalEntry> {
  const handle = await open(file)
  try {
    let lineStart = 0
    let pending: Buffer[] = []
    for await (const chunk of chunksOf(handle)) {
      let from = 0
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
        const line = Buffer.concat([...pending, chunk.subarray(from, end)])
        const entry = decodeLine(line, file, lineStart)
        if (entry) yield entry
        lineStart += line.length + 1
        pending = []
        from = end + 1
      }
      pending.push(chunk.subarray(from))
    }
    // A line without its newline may still be whole: the newline is all that the tear took.
    const last = decodeLine(Buffer.concat(pending), file, lineStart)
    if (last) yield last
  } finally {
    await handle.close()
  }
}

/**
 * The JSON of entries, in the order in which it lies in the files, so that a journal is read from front to back in large
 * pieces.
 */
export async function* readEntries(
  entries: readonly JournalEntry[],
): AsyncGenerator<{ entry: JournalEntry; json: Buffer }> {
  const files = new Set(entries.map((entry) => entry.file))
  for (const file of files) {
    const inFile = entries.filter((entry) => entry.file === file).sort((a, b) => a.start - b.start)
    const handle = await open(file)
    try {
      const window = new FileWindow(handle)
      for (const entry of inFile) {
        const json = await window.read(entry.start, entry.bytes)
        if (json.length !== entry.bytes) throw new Error(`${file}: the row of prompt ${entry.promptId} is cut short`)
        yield { entry, json }
      }
    } finally {
      await handle.close()
    }
  }
}

/** A piece of a file in memory that moves forward as it is read. */
class FileWindow {
  #buffer = Buffer.alloc(0)
  #start = 0

  constructor(private readonly handle: FileHandle) {}

  async read(start: number, bytes: number): Promise<Buffer> {
    const isInside = start >= this.#start && start + bytes <= this.#start + this.#buffer.length
    if (!isInside) {
      const buffer = Buffer.allocUnsafe(Math.max(bytes, chunkBytes))
      const { bytesRead } = await this.handle.read(buffer, 0, buffer.length, start)
      this.#buffer = buffer.subarray(0, bytesRead)
      this.#start = start
    }
    return this.#buffer.subarray(start - this.#start, start - this.#start + bytes)
  }
}

async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const buffer = Buffer.allocUnsafe(chunkBytes)
    const { bytesRead } = await handle.read(buffer, 0, chunkBytes, position)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    position += bytesRead
  }
}

const restStart = 'S 00000000 '.length
/** Longest header, promptId included. */
const headBytes = 256
const headPattern = /^([SFA]) ([0-9a-f]{8}) ((\d+) (\d+) ([t-]) )\{"promptId":"([^"]+)"/

function decodeLine(line: Buffer, file: string, lineStart: number): JournalEntry | undefined {
  const match = headPattern.exec(line.toString('latin1', 0, Math.min(headBytes, line.length)))
  if (!match) return undefined
  const [, kind, crc = '', header = '', inputTokens, outputTokens, flag, promptId = ''] = match
  if (crc32(line.subarray(restStart)) !== Number.parseInt(crc, 16)) return undefined
  return {
    kind: kind as RowKind,
    promptId: ownString(promptId),
    inputTokens: Number(inputTokens),
    outputTokens: Number(outputTokens),
    isTruncated: flag === 't',
    file,
    start: lineStart + restStart + header.length,
    bytes: line.length - restStart - header.length,
  }
}

/** A copy: what is cut out of a string keeps the whole of it in memory. */
function ownString(cut: string): string {
  return Buffer.from(cut, 'latin1').toString('latin1')
}
