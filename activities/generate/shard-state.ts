import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { FailedAttempt } from '../../domain/sample.ts'
import type { JournalEntry } from './journal.ts'
import { readEntries, readJournal } from './journal-reader.ts'

/** What is known of a shard from everything that any dispatch of it has journaled. */
export interface ShardState {
  /** The outcome of each prompt that has one: its sample, or else its failure. */
  outcomes: Map<string, JournalEntry>
  /** Attempts so far of prompts that were left for another engine. */
  attempts: Map<string, FailedAttempt[]>
}

/** Folder of a shard's journals, on the scratch disk of a host. */
export function shardFolder(scratch: string, run: string, shard: string): string {
  return join(scratch, run, shard)
}

/** Reads all journals of a folder and unites them by promptId. An absent folder is an empty one. */
export async function readShardState(folder: string): Promise<ShardState> {
  await mkdir(folder, { recursive: true })
  const state: ShardState = { outcomes: new Map(), attempts: new Map() }
  const deferred: JournalEntry[] = []
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.journal')).sort()) {
    for await (const entry of readJournal(join(folder, file))) {
      if (entry.kind === 'A') deferred.push(entry)
      else remember(state.outcomes, entry)
    }
  }
  for await (const { entry, json } of readEntries(deferred)) {
    const { attempts } = JSON.parse(json.toString()) as { attempts: FailedAttempt[] }
    // Each list begins with the attempts of the dispatches before it.
    if (attempts.length > (state.attempts.get(entry.promptId)?.length ?? 0))
      state.attempts.set(entry.promptId, attempts)
  }
  return state
}

/** A sample is never lost to a failure; of two of the same kind the first stays. */
function remember(outcomes: Map<string, JournalEntry>, entry: JournalEntry): void {
  const known = outcomes.get(entry.promptId)
  if (!known || (known.kind === 'F' && entry.kind === 'S')) outcomes.set(entry.promptId, entry)
}
