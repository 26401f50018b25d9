import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ShardDispatch } from '../../domain/dispatch.ts'
import type { FailureReason } from '../../domain/failure-reasons.ts'
import { runKeys, shardName } from '../../domain/run-keys.ts'
import { restoreCheckpoints } from '../generate/checkpoints.ts'
import { Journal } from '../generate/journal.ts'
import { failureFor } from '../generate/prompt-records.ts'
import { readPrompts } from '../generate/shard-prompts.ts'
import { rowOf } from '../generate/shard-runner.ts'
import { readShardState, shardFolder } from '../generate/shard-state.ts'
import { readRunRecord } from '../run-record.ts'
import { readPlacedSamples } from './sample-objects.ts'
import { type UploadDeps, uploadShard } from './upload-shard.ts'

/** A shard that is to be committed with what it has. */
export interface SealedShard extends Pick<ShardDispatch, 'ref' | 'shard' | 'epoch' | 'identity'> {
  /** Reason of the failures that unfinished prompts end as. */
  reason: FailureReason
}

/** Commits a shard with what is known of it, on this host and in the store; the rest of its prompts end as failures. */
export async function sealShard(sealed: SealedShard, deps: UploadDeps): Promise<void> {
  const { ref, shard, epoch, reason } = sealed
  const keys = runKeys(ref.run)
  const folder = shardFolder(deps.scratch, ref.run, shardName(shard))
  await mkdir(folder, { recursive: true })
  await restoreCheckpoints(deps.store, keys.checkpoints(shard), folder)
  const { outcomes, attempts } = await readShardState(folder)
  const { spec } = await readRunRecord(deps.store, ref)
  const place = { store: deps.store, run: ref.run, shard, options: spec }
  const placed = (await readPlacedSamples(place)).flatMap(({ facts }) => facts)
  const sampled = new Set(placed.map((fact) => fact.promptId))
  const journal = await Journal.create(join(folder, `e${epoch}-sealed-${randomUUID().slice(0, 8)}.journal`))
  for (const prompt of await readPrompts(deps.store, keys.prompts(shard))) {
    if (outcomes.has(prompt.promptId) || sampled.has(prompt.promptId)) continue
    const failure = failureFor(prompt.read(), reason, attempts.get(prompt.promptId) ?? [], deps.now())
    journal.append(rowOf({ kind: 'failure', failure }))
  }
  await journal.close()
  await uploadShard(sealed, deps)
}
