import type { DatasetOptions } from '../../../domain/spec.ts'
import { trainSplit } from '../../../domain/splits.ts'
import { hasSameId, idEntryAt, idEntryBytes, loadIdEntries, sortedIdPositions } from '../../../shuffle/id-index.ts'
import type { Duplicates, MergeContext, MergeSpill } from './merge-task-types.ts'

export interface DuplicatesInput {
  readonly spills: readonly MergeSpill[]
  readonly fromStep: number
  readonly toStep: number
}

/** Words of `drops` for each row. */
export const dropWords = 5

/** Decides, within a part of the id space, which rows give way to another one with the same conversation. */
export function findDuplicates({ spills, fromStep, toStep }: DuplicatesInput, context: MergeContext): Duplicates {
  const { entries, spillOf } = loadIdEntries(context.folder, spills, fromStep, toStep)
  const positions = sortedIdPositions(entries)
  const rules = rulesOf(context)
  const drops: number[] = []
  for (let first = 0, next = 0; first < positions.length; first = next) {
    const firstAt = (positions[first] ?? 0) * idEntryBytes
    next = first + 1
    while (next < positions.length && hasSameId(entries, firstAt, (positions[next] ?? 0) * idEntryBytes)) next++
    if (next === first + 1) continue
    const same = positions.subarray(first, next)
    const groups = Array.from(same, (position) => entries.readUInt32BE(position * idEntryBytes + idEntryAt.group))
    for (const n of givingWay(groups, rules)) {
      const position = same[n] ?? 0
      const at = position * idEntryBytes
      const isNew = (groups[n] ?? 0) >= rules.firstNew ? 1 : 0
      const row = entries.readUInt32BE(at + idEntryAt.row)
      drops.push(groups[n] ?? 0, row, entries.readUInt32BE(at + idEntryAt.tag), spillOf[position] ?? 0, isNew)
    }
  }
  return { drops: Uint32Array.from(drops) }
}

export interface DuplicateRules {
  policy: DatasetOptions['duplicates']
  /** Files from this number on are new. */
  firstNew: number
  /** Old files whose rows models are tested with. */
  heldOut: ReadonlySet<number>
}

/** The rules of a merge. */
export function rulesOf({ files, options }: MergeContext): DuplicateRules {
  const firstNew = files.findIndex(({ side }) => side === 'new')
  const heldOut = files.flatMap(({ side, split }, n) => (side === 'old' && split !== trainSplit ? [n] : []))
  return {
    policy: options.duplicates,
    firstNew: firstNew < 0 ? files.length : firstNew,
    heldOut: new Set(heldOut),
  }
}

/**
 * Of rows with one conversation, given by their files in order, those that give way. Rows that the dataset has are never
 * duplicates of one another: they were meant. A new row whose conversation is in a test split gives way under every
 * policy, or models would be trained on what they are tested with.
 */
export function givingWay(files: readonly number[], { policy, firstNew, heldOut }: DuplicateRules): number[] {
  const places = files.map((_, n) => n)
  const olds = places.filter((n) => (files[n] ?? 0) < firstNew)
  const news = places.slice(olds.length)
  if (olds.some((n) => heldOut.has(files[n] ?? 0))) return news
  switch (policy) {
    case 'keepBoth':
      return []
    case 'keepOld':
      return olds.length > 0 ? news : news.slice(1)
    case 'keepNew':
      return news.length > 0 ? [...olds, ...news.slice(1)] : []
  }
}
