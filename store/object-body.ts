/** Throws `RangeError` for a range that no object can satisfy. */
export function checkRange(range: { readonly start: number; readonly end?: number } | undefined): void {
  if (range === undefined) return
  const { start, end } = range
  if (!Number.isSafeInteger(start) || start < 0) throw new RangeError(`A range cannot start at ${start}.`)
  if (end !== undefined && (!Number.isSafeInteger(end) || end <= start)) {
    throw new RangeError(`The range from ${start} to ${end} (exclusive) holds no byte.`)
  }
}

/**
 * A body that can be read once and whose `release` runs exactly once: at the end, on an error, or when the reader breaks
 * off, even before the first chunk (a generator's own `finally` would not run then).
 */
export function singleUse(
  chunks: AsyncGenerator<Uint8Array>,
  release: () => Promise<void> | void,
): AsyncIterable<Uint8Array> {
  let isTaken = false
  let released: Promise<void> | undefined
  const releaseOnce = async () => {
    released ??= Promise.resolve(release())
    await released
  }
  return {
    [Symbol.asyncIterator]() {
      if (isTaken) throw new Error('The body of this object was read already. Get the object again.')
      isTaken = true
      return {
        async next() {
          try {
            const result = await chunks.next()
            if (result.done) await releaseOnce()
            return result
          } catch (error) {
            await releaseOnce()
            throw error
          }
        },
        async return() {
          await releaseOnce()
          await chunks.return(undefined)
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/**
 * Passes a stream on and remembers what its source threw. A source that reads files fails with the same codes as a store
 * that writes them, and must not be taken for it.
 */
export class WatchedSource {
  failure: { readonly reason: unknown } | undefined

  constructor(private readonly body: AsyncIterable<Uint8Array>) {}

  async *chunks(): AsyncGenerator<Uint8Array> {
    const source = this.body[Symbol.asyncIterator]()
    let isOver = false
    try {
      for (;;) {
        const next = await source.next().catch((reason) => {
          isOver = true
          this.failure = { reason }
          throw reason
        })
        isOver = next.done === true
        if (next.done) return
        yield next.value
      }
    } finally {
      // Broken off by the writer: the source may clean up.
      if (!isOver) await source.return?.()
    }
  }
}
