import { setTimeout as sleep } from 'node:timers/promises'

/** Waits; an abort ends it with the signal's own reason, where Node's timer would throw an error of its own. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}
