import type { TokenSequence } from './fit-length.ts'
import { RowLeftOut } from './row-left-out.ts'

/** A turn with the ids that the engine read and wrote. */
export interface TurnWithIds {
  readonly promptIds: Int32Array
  readonly outputIds: Int32Array
}

/** What has to be known of the model to check ids. */
export interface IdRules {
  /** Ids are smaller than this. */
  readonly idLimit: number
  /** Ids that end a turn. */
  readonly endIds: ReadonlySet<number>
}

/**
 * The rows of a sample by its engine's own ids: what it read is context, what it wrote is supervised. Turns whose prompt
 * begins with all that came before them share a row; where the chat template rewrote the history, as those of reasoning
 * models do, each stretch is a row of its own. Throws `RowLeftOut`.
 */
export function rowsFromIds(turns: readonly TurnWithIds[], rules: IdRules): TokenSequence[] {
  const rows: { ids: Int32Array; spans: number[] }[] = []
  for (const turn of turns) {
    check(turn, rules)
    const { promptIds, outputIds } = turn
    const ids = new Int32Array(promptIds.length + outputIds.length)
    ids.set(promptIds)
    ids.set(outputIds, promptIds.length)
    const span = [promptIds.length, ids.length]
    const last = rows.at(-1)
    if (last && beginsWith(promptIds, last.ids)) {
      last.ids = ids
      last.spans.push(...span)
    } else rows.push({ ids, spans: span })
  }
  return rows
}

function check({ promptIds, outputIds }: TurnWithIds, { idLimit, endIds }: IdRules): void {
  for (const ids of [promptIds, outputIds]) {
    for (const id of ids) {
      if (id < 0 || id >= idLimit) throw new RowLeftOut('id_out_of_vocabulary', `${id}; there are ${idLimit}`)
    }
  }
  const end = outputIds.findIndex((id) => endIds.has(id))
  if (end >= 0 && end < outputIds.length - 1) {
    throw new RowLeftOut('end_of_turn_repeated', `${outputIds[end]} at ${end} of ${outputIds.length} ids`)
  }
}

function beginsWith(ids: Int32Array, beginning: Int32Array): boolean {
  return ids.length >= beginning.length && beginning.every((id, n) => id === ids[n])
}
