/** Parts of a key space that the sorted entries of a spill can be addressed by. */
export const stepCount = 1024

/** How many entries lie before each part, and how many there are in all, from the parts of the sorted entries. */
export function stepsOf(count: number, stepOf: (n: number) => number): number[] {
  const steps = new Array<number>(stepCount + 1).fill(0)
  for (let n = 0; n < count; n++) {
    const step = stepOf(n)
    steps[step + 1] = (steps[step + 1] ?? 0) + 1
  }
  for (let step = 1; step <= stepCount; step++) steps[step] = (steps[step] ?? 0) + (steps[step - 1] ?? 0)
  return steps
}
