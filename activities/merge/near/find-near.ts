import { join } from 'node:path'
import { similarity, sketchLength } from '../../../domain/min-hash.ts'
import { OpenScratchFiles, readExactly } from '../../../shuffle/scratch-files.ts'
import { type DuplicateRules, rulesOf } from '../shuffle/find-duplicates.ts'
import type { Duplicates, MergeContext } from '../shuffle/merge-task-types.ts'
import { bandEntryAt, bandEntryBytes, type NearBatch, nearRecordAt, nearRecordBytes } from './near-writer.ts'

export interface NearInput {
  readonly batches: readonly NearBatch[]
  readonly fromStep: number
  readonly toStep: number
}

/** Of rows with one equal band, each is held against so many others at most: there may be thousands of them. */
const mostRivals = 32

/** A row among those with one equal band. */
interface Candidate {
  group: number
  row: number
  batch: number
  record: number
}

/** Decides, within a part of the key space of bands, which rows give way to one that is nearly the same. */
export function findNear({ batches, fromStep, toStep }: NearInput, context: MergeContext): Duplicates {
  const rules = rulesOf(context)
  const threshold = context.options.near ?? 1
  const files = new OpenScratchFiles()
  const drops: number[] = []
  try {
    const read = (of: Candidate) => readRecord(context.folder, batches, of, files)
    for (const group of candidateGroups(context.folder, batches, fromStep, toStep, files)) {
      const ranked = group.sort((a, b) => rank(a, rules) - rank(b, rules) || a.group - b.group || a.row - b.row)
      ranked.forEach((later, n) => {
        const rivals = ranked.slice(0, Math.min(n, mostRivals)).filter((earlier) => mayGiveWay(later, earlier, rules))
        if (rivals.length === 0) return
        const own = read(later)
        if (!rivals.some((rival) => similarity(own.sketch, read(rival).sketch) >= threshold)) return
        drops.push(later.group, later.row, own.tag, later.batch, later.group >= rules.firstNew ? 1 : 0)
      })
    }
  } finally {
    files.close()
  }
  return { drops: Uint32Array.from(drops) }
}

/** Rows that stay come first: held-out ones, then the side that wins. */
function rank({ group }: Candidate, { firstNew, heldOut, policy }: DuplicateRules): number {
  if (heldOut.has(group)) return 0
  const isNew = group >= firstNew
  return isNew === (policy === 'keepNew') ? 1 : 2
}

function mayGiveWay(later: Candidate, earlier: Candidate, { firstNew, heldOut, policy }: DuplicateRules): boolean {
  const isLaterNew = later.group >= firstNew
  const isEarlierNew = earlier.group >= firstNew
  if (isLaterNew && heldOut.has(earlier.group)) return true
  if (heldOut.has(later.group) || policy === 'keepBoth') return false
  // Rows that the dataset has are never duplicates of one another: they were meant.
  return isLaterNew || isEarlierNew
}

/** Rows that have a band's key in common, two at least. */
function* candidateGroups(
  folder: string,
  batches: readonly NearBatch[],
  fromStep: number,
  toStep: number,
  files: OpenScratchFiles,
): Generator<Candidate[]> {
  const counts = batches.map(({ steps }) => (steps[toStep] ?? 0) - (steps[fromStep] ?? 0))
  const total = counts.reduce((sum, count) => sum + count, 0)
  const entries = Buffer.allocUnsafeSlow(total * bandEntryBytes)
  const keys = new Float64Array(total)
  const batchOf = new Uint32Array(total)
  let loaded = 0
  batches.forEach(({ name, steps }, batch) => {
    const count = counts[batch] ?? 0
    const target = entries.subarray(loaded * bandEntryBytes, (loaded + count) * bandEntryBytes)
    const start = (steps[fromStep] ?? 0) * bandEntryBytes
    if (count > 0) readExactly(files.get(join(folder, `${name}.bands`)), target, start)
    batchOf.fill(batch, loaded, loaded + count)
    loaded += count
  })
  for (let n = 0; n < total; n++) keys[n] = entries.readDoubleBE(n * bandEntryBytes)
  const order = Uint32Array.from(keys, (_, n) => n).sort((a, b) => (keys[a] as number) - (keys[b] as number))
  const candidateAt = (n: number): Candidate => {
    const at = (order[n] ?? 0) * bandEntryBytes
    return {
      group: entries.readUInt32BE(at + bandEntryAt.group),
      row: entries.readUInt32BE(at + bandEntryAt.row),
      batch: batchOf[order[n] ?? 0] ?? 0,
      record: entries.readUInt32BE(at + bandEntryAt.record),
    }
  }
  for (let first = 0, next = 0; first < total; first = next) {
    next = first + 1
    while (next < total && keys[order[next] ?? 0] === keys[order[first] ?? 0]) next++
    if (next - first > 1) yield Array.from({ length: next - first }, (_, n) => candidateAt(first + n))
  }
}

function readRecord(
  folder: string,
  batches: readonly NearBatch[],
  { batch, record }: Candidate,
  files: OpenScratchFiles,
): { tag: number; sketch: Uint32Array } {
  const bytes = Buffer.allocUnsafe(nearRecordBytes)
  readExactly(files.get(join(folder, `${batches[batch]?.name}.near`)), bytes, record * nearRecordBytes)
  const sketch = new Uint32Array(sketchLength)
  for (let n = 0; n < sketchLength; n++) sketch[n] = bytes.readUInt32BE(nearRecordAt.sketch + 4 * n)
  return { tag: bytes.readUInt32BE(nearRecordAt.tag), sketch }
}
