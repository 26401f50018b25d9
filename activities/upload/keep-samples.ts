import { mkdir } from 'node:fs/promises'
import type { RunRef } from '../../domain/dispatch.ts'
import { runKeys, shardName } from '../../domain/run-keys.ts'
import type { ObjectStore } from '../../store/store.ts'
import { restoreCheckpoints } from '../generate/checkpoints.ts'
import { readShardState, shardFolder } from '../generate/shard-state.ts'
import { readRunRecord } from '../run-record.ts'
import { placeSamples } from './sample-objects.ts'

export interface KeptShard {
  ref: RunRef
  shard: number
}

/**
 * Brings the samples that a half-done shard has, on this host and in checkpoints, into the store, without committing it:
 * whoever goes on with the shard finds them there and adds what they lack.
 */
export async function keepSamples(
  { ref, shard }: KeptShard,
  { store, scratch }: { store: ObjectStore; scratch: string },
): Promise<void> {
  const folder = shardFolder(scratch, ref.run, shardName(shard))
  await mkdir(folder, { recursive: true })
  await restoreCheckpoints(store, runKeys(ref.run).checkpoints(shard), folder)
  const { outcomes } = await readShardState(folder)
  const samples = [...outcomes.values()].filter((entry) => entry.kind === 'S')
  const { spec } = await readRunRecord(store, ref)
  await placeSamples(samples, { store, run: ref.run, shard, options: spec })
}
