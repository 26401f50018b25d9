import { CancellationScope, isCancellation } from '@temporalio/workflow'
import type { RunRef } from '../domain/dispatch.ts'
import type { RunStatus } from '../domain/progress.ts'
import { progressActivities } from './activity-groups.ts'

/** Keeps `progress.json` up to date with the status of the stage, by an activity that runs beside it. */
export class StatusFollower {
  #status: RunStatus | undefined
  #scope: CancellationScope | undefined

  constructor(private readonly ref: RunRef) {}

  /** From here on this is the status; the same again changes nothing. */
  follow(status: RunStatus): void {
    if (status === this.#status) return
    this.#scope?.cancel()
    this.#status = status
    const scope = new CancellationScope()
    this.#scope = scope
    const reporting = scope.run(() => progressActivities.keepProgress({ ref: this.ref, status }))
    void reporting.catch((error: unknown) => {
      if (!isCancellation(error)) throw error
    })
  }

  end(): void {
    this.#scope?.cancel()
  }
}
