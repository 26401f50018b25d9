import { keyHash, keyHashStart, keyHashStep } from './json-tape.ts'

/** Numbers for a set of names, found by the names' bytes. */
export class NameTable {
  readonly #byHash = new Map<number, { name: Buffer; number: number }>()
  /** The name of each number. */
  readonly names: readonly string[]

  constructor(names: Iterable<string>) {
    this.names = [...new Set(names)]
    this.names.forEach((text, number) => {
      const name = Buffer.from(text)
      this.#byHash.set(keyHash(name, 0, name.length), { name, number })
    })
    if (this.#byHash.size !== this.names.length) throw new Error('Two names have the same hash')
  }

  /** The number of the name in these bytes, or -1. */
  find(hash: number, bytes: Buffer, start: number, end: number): number {
    const found = this.#byHash.get(hash)
    if (!found || found.name.length !== end - start) return -1
    for (let n = 0; n < found.name.length; n++) if (found.name[n] !== bytes[start + n]) return -1
    return found.number
  }

  /** As `find`, for bytes that may be written in capitals and whose hash is not known. */
  findLowerCased(bytes: Buffer, start: number, end: number): number {
    let hash = keyHashStart
    for (let at = start; at < end; at++) hash = keyHashStep(hash, lowerCased(bytes[at] as number))
    const found = this.#byHash.get(hash)
    if (!found || found.name.length !== end - start) return -1
    for (let n = 0; n < found.name.length; n++) {
      if (found.name[n] !== lowerCased(bytes[start + n] as number)) return -1
    }
    return found.number
  }

  numberOf(name: string): number {
    return this.names.indexOf(name)
  }
}

function lowerCased(byte: number): number {
  return byte >= 65 && byte <= 90 ? byte + 32 : byte
}
