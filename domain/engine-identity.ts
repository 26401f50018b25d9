/** What an engine serves; all engines of a run must serve the same. */
export interface EngineIdentity {
  model: string
  weightVersion: string
}

/** Says how an engine differs from what the run's engines serve; undefined when it does not. */
export function identityDifference(engine: EngineIdentity | undefined, run: EngineIdentity): string | undefined {
  if (!engine) return 'it has not said what it serves'
  if (engine.model === run.model && engine.weightVersion === run.weightVersion) return undefined
  return `it serves ${describe(engine)}, the run's engines serve ${describe(run)}`
}

/** The identity that most have; of equally frequent ones the first. Undefined for an empty list. */
export function mostFrequentIdentity(identities: readonly EngineIdentity[]): EngineIdentity | undefined {
  const count = (wanted: EngineIdentity) => identities.filter((other) => !identityDifference(other, wanted)).length
  return identities.reduce<EngineIdentity | undefined>(
    (best, identity) => (best && count(best) >= count(identity) ? best : identity),
    undefined,
  )
}

function describe({ model, weightVersion }: EngineIdentity): string {
  return `${model} (weights ${weightVersion})`
}
