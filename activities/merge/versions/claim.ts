import { datasetKeys } from '../../../domain/dataset.ts'
import { PreconditionFailed } from '../../../store/errors.ts'
import { putJson } from '../../../store/put-json.ts'
import { readJson } from '../../../store/read-object.ts'
import type { ObjectStore } from '../../../store/store.ts'

/** `claim.json`: which merge has a version's number, before any of its files is there. */
interface Claim {
  mergeId: string
  /** ISO 8601. */
  claimedAt: string
}

/** A number that a merge has for itself. */
export interface ClaimedVersion {
  readonly version: number
  readonly claimedAt: string
}

/** The number that an earlier attempt at the same merge took and did not give up. */
export async function findClaim(
  store: ObjectStore,
  after: number,
  mergeId: string,
): Promise<ClaimedVersion | undefined> {
  for (let version = after + 1; ; version++) {
    const claim = await readClaim(store, version)
    if (!claim) return undefined
    if (claim.mergeId === mergeId && !(await isAbandoned(store, version)))
      return { version, claimedAt: claim.claimedAt }
  }
}

/** Takes the first number that no merge has, or the one taken before. Numbers are never used again. */
export async function claimVersion(
  store: ObjectStore,
  after: number,
  mergeId: string,
  now: () => number,
): Promise<ClaimedVersion> {
  for (let version = after + 1; ; version++) {
    const claim: Claim = { mergeId, claimedAt: new Date(now()).toISOString() }
    if (await put(store, datasetKeys.claim(version), claim)) return { version, claimedAt: claim.claimedAt }
    const holder = await readClaim(store, version)
    if (holder?.mergeId === mergeId && !(await isAbandoned(store, version)))
      return { version, claimedAt: holder.claimedAt }
  }
}

/** Gives a number up: the next attempt takes another. What lies below it may be removed. */
export async function abandonVersion(store: ObjectStore, version: number, why: string): Promise<void> {
  await put(store, datasetKeys.abandoned(version), { why })
}

async function isAbandoned(store: ObjectStore, version: number): Promise<boolean> {
  return (await store.head(datasetKeys.abandoned(version))) !== undefined
}

async function readClaim(store: ObjectStore, version: number): Promise<Claim | undefined> {
  const key = datasetKeys.claim(version)
  return (await store.head(key)) ? await readJson<Claim>(store, key) : undefined
}

async function put(store: ObjectStore, key: string, value: object): Promise<boolean> {
  try {
    await putJson(store, key, value, { onlyIf: 'absent' })
    return true
  } catch (error) {
    if (!(error instanceof PreconditionFailed)) throw error
    return false
  }
}
