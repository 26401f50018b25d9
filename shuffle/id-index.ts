import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { entryAt, entryBytes } from './entry.ts'
import { readExactly, withScratchFile } from './scratch-files.ts'
import { stepsOf } from './steps.ts'

/**
 * What `<spill>.ids` knows of a row, sorted by id, group and row:
 *
 *     0  id, 16 bytes; 16 group, 20 row, 24 tag, u32 each
 */
export const idEntryBytes = 28
export const idEntryAt = { id: 0, group: 16, row: 20, tag: 24 } as const

/** Writes the index by id of a spill whose entries are sorted already. Gives its steps. */
export function writeIdIndex(folder: string, name: string, entries: Buffer): number[] {
  const count = entries.length / entryBytes
  const unsorted = Buffer.allocUnsafe(count * idEntryBytes)
  for (let n = 0; n < count; n++) {
    const from = n * entryBytes
    const to = n * idEntryBytes
    entries.copy(unsorted, to + idEntryAt.id, from + entryAt.id, from + entryAt.id + 16)
    entries.copy(unsorted, to + idEntryAt.group, from + entryAt.group, from + entryAt.group + 8)
    entries.copy(unsorted, to + idEntryAt.tag, from + entryAt.tag, from + entryAt.tag + 4)
  }
  const sorted = Buffer.allocUnsafe(unsorted.length)
  sortedIdPositions(unsorted).forEach((position, n) => {
    const from = position * idEntryBytes
    unsorted.copy(sorted, n * idEntryBytes, from, from + idEntryBytes)
  })
  writeFileSync(join(folder, `${name}.ids`), sorted)
  return stepsOf(count, (n) => sorted.readUInt16BE(n * idEntryBytes) >>> 6)
}

/** Positions of id entries by id, group and row. */
export function sortedIdPositions(entries: Buffer): Uint32Array {
  const count = entries.length / idEntryBytes
  const keys = new Float64Array(count)
  const positions = new Uint32Array(count)
  for (let n = 0; n < count; n++) {
    keys[n] = entries.readUIntBE(n * idEntryBytes, 6)
    positions[n] = n
  }
  return positions.sort((a, b) => {
    const difference = (keys[a] as number) - (keys[b] as number)
    return difference !== 0 ? difference : compareIdEntries(entries, a * idEntryBytes, b * idEntryBytes)
  })
}

function compareIdEntries(entries: Buffer, a: number, b: number): number {
  return entries.compare(entries, b, b + idEntryAt.tag, a, a + idEntryAt.tag)
}

export function hasSameId(entries: Buffer, a: number, b: number): boolean {
  return entries.compare(entries, b, b + 16, a, a + 16) === 0
}

/** The id entries of a part of the id space, spill by spill. */
export function loadIdEntries(
  folder: string,
  spills: readonly { readonly name: string; readonly idSteps?: readonly number[] }[],
  fromStep: number,
  toStep: number,
): { entries: Buffer; spillOf: Uint32Array } {
  const counts = spills.map(({ idSteps = [] }) => (idSteps[toStep] ?? 0) - (idSteps[fromStep] ?? 0))
  const total = counts.reduce((sum, count) => sum + count, 0)
  const entries = Buffer.allocUnsafeSlow(total * idEntryBytes)
  const spillOf = new Uint32Array(total)
  let loaded = 0
  spills.forEach(({ name, idSteps = [] }, n) => {
    const count = counts[n] ?? 0
    if (count === 0) return
    const target = entries.subarray(loaded * idEntryBytes, (loaded + count) * idEntryBytes)
    withScratchFile(join(folder, `${name}.ids`), (file) =>
      readExactly(file, target, (idSteps[fromStep] ?? 0) * idEntryBytes),
    )
    spillOf.fill(n, loaded, loaded + count)
    loaded += count
  })
  return { entries, spillOf }
}
