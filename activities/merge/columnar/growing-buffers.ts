/** Bits that are added one by one, as Arrow lays them out; counts those that are not set. */
export class Validity {
  length = 0
  unset = 0
  #bits = new Uint8Array(64)

  add(isSet: boolean): void {
    const at = this.length >>> 3
    if (at === this.#bits.length) {
      const larger = new Uint8Array(this.#bits.length * 2)
      larger.set(this.#bits)
      this.#bits = larger
    }
    if (isSet) this.#bits[at] = (this.#bits[at] ?? 0) | (1 << (this.length & 7))
    else this.unset++
    this.length++
  }

  get bits(): Uint8Array {
    return this.#bits.subarray(0, Math.ceil(this.length / 8))
  }
}

/** Where each of a row of values ends; the first begins at 0. */
export class Offsets {
  readonly #ends: number[] = [0]

  constructor(readonly isLarge: boolean) {}

  add(end: number): void {
    this.#ends.push(end)
  }

  get values(): Int32Array | BigInt64Array {
    return this.isLarge ? BigInt64Array.from(this.#ends, BigInt) : Int32Array.from(this.#ends)
  }
}

/** Bytes that are added piece by piece. */
export class GrowingBytes {
  length = 0
  #bytes = Buffer.allocUnsafeSlow(4096)

  addText(text: string): void {
    this.#room(text.length * 3)
    this.length += this.#bytes.write(text, this.length, 'utf8')
  }

  addBytes(bytes: Uint8Array): void {
    this.#room(bytes.length)
    this.#bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.length)
  }

  #room(more: number): void {
    if (this.length + more <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.length + more))
    this.#bytes.copy(larger, 0, 0, this.length)
    this.#bytes = larger
  }
}
