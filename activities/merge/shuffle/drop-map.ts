import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const name = 'drops'

/** Which rows are left out, a bit for each row of each file: grows with the rows of one file at most. */
export class DropMap {
  readonly #files: Uint8Array[] = []

  constructor(files = 0) {
    for (let n = 0; n < files; n++) this.#files.push(new Uint8Array(0))
  }

  /** Marks a row; false when it was marked before. */
  add(file: number, row: number): boolean {
    let bits = this.#files[file] ?? new Uint8Array(0)
    if (row >>> 3 >= bits.length) {
      const larger = new Uint8Array(Math.max(1024, bits.length * 2, (row >>> 3) + 1))
      larger.set(bits)
      bits = larger
      this.#files[file] = bits
    }
    const before = bits[row >>> 3] ?? 0
    const after = before | (1 << (row & 7))
    bits[row >>> 3] = after
    return before !== after
  }

  has(file: number, row: number): boolean {
    return (((this.#files[file]?.[row >>> 3] ?? 0) >>> (row & 7)) & 1) === 1
  }

  /** Writes the map to where threads find it. */
  write(folder: string): void {
    const lengths = Uint32Array.from(this.#files, (bits) => bits.length)
    writeFileSync(join(folder, `${name}.lengths`), new Uint8Array(lengths.buffer))
    writeFileSync(join(folder, `${name}.bits`), Buffer.concat(this.#files))
  }

  static read(folder: string): DropMap {
    const bytes = readFileSync(join(folder, `${name}.lengths`))
    const lengths = new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
    const bits = readFileSync(join(folder, `${name}.bits`))
    const map = new DropMap()
    let start = 0
    for (const length of lengths) {
      map.#files.push(bits.subarray(start, start + length))
      start += length
    }
    return map
  }
}
