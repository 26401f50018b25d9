/**
 * Maps with bounded concurrency and gives the results in the order of the input. When one fails or the consumer stops, no
 * further input is taken and what is still running is waited for.
 */
export async function* mapInOrder<In, Out>(
  input: AsyncIterable<In> | Iterable<In>,
  concurrency: number,
  map: (item: In) => Promise<Out>,
): AsyncGenerator<Out> {
  const running: Promise<Out>[] = []
  try {
    for await (const item of input) {
      const result = map(item)
      // Its rejection is met when its turn comes; until then it must not count as unhandled.
      result.catch(() => {})
      running.push(result)
      if (running.length >= concurrency) yield await (running.shift() as Promise<Out>)
    }
    for (let next = running.shift(); next; next = running.shift()) yield await next
  } finally {
    await Promise.allSettled(running)
  }
}
