import type { OpenStoreOptions, StoreOpener } from '../../store/open-store.ts'
import type { DurableStore } from '../../store/store.ts'

/** A kind of store that the contract holds for. */
export interface Backend {
  /** An empty store; each call gives another one of the same server or disk. */
  fresh(): DurableStore
  /** For stores of another place on the same server. */
  open: StoreOpener
  options: OpenStoreOptions
  /** Races of different objects that run side by side. More where the server lets waiting writers in once a second only. */
  racesAtOnce: number
  /** Leaves behind what a writer that was killed in the middle leaves behind. */
  leaveUnfinishedWrite(store: DurableStore, key: string): Promise<void>
}

/** Declares a case of the contract. */
export type Case = (title: string, work: () => Promise<void>, timeoutMs?: number) => void

/** Case by title, and why this kind of server cannot pass it. */
export type Gaps = Readonly<Record<string, string>>

/** Uploads are cut at the smallest size that S3 allows, so that few bytes make many parts. */
export const partBytes = 5 * 1024 * 1024
