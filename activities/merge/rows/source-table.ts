/** Numbers the sources of a batch's rows, and counts per source. */
export class SourceTable {
  readonly names: string[] = []
  readonly #numbers = new Map<string, number>()

  /** Number of a source; equal names have equal numbers. */
  numberOf(name: string): number {
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    const number = this.names.length
    this.names.push(name)
    this.#numbers.set(name, number)
    return number
  }
}

/** Rows that do not say where they come from. */
export const unnamedSource = '(no source)'

export function countAt(counts: number[], number: number): void {
  while (counts.length <= number) counts.push(0)
  counts[number] = (counts[number] ?? 0) + 1
}
