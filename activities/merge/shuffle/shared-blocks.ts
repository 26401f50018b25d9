/**
 * Memory that threads share, used again and again. Handing over memory of its own with each block would be as quick, but
 * the garbage collector would be called for every few blocks to count what is there.
 */
export class SharedBlocks {
  readonly #free: SharedArrayBuffer[] = []

  /** @param blockBytes size of each block; others are not kept. */
  constructor(readonly blockBytes: number) {}

  take(): SharedArrayBuffer {
    return this.#free.pop() ?? new SharedArrayBuffer(this.blockBytes)
  }

  /** Memory for at least so many bytes: a shared block where one fits. */
  readonly allocate = (bytes: number): Buffer => {
    const fits = bytes <= this.blockBytes && bytes > this.blockBytes / 2
    return fits ? Buffer.from(this.take(), 0, bytes) : Buffer.allocUnsafeSlow(bytes)
  }

  /** Gives memory back; what is no shared block is left alone. */
  give({ buffer }: Uint8Array): void {
    if (buffer instanceof SharedArrayBuffer && buffer.byteLength === this.blockBytes) this.#free.push(buffer)
  }
}
