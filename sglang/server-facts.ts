import type { EngineDescription } from './engine-client.ts'

/** Only what is read of `/server_info`: the whole body holds the server's API keys and must not travel any further. */
export interface ServerInfo {
  version?: string
  internal_states?: { effective_max_running_requests_per_dp?: number }[]
}

/** Version and cap on running requests, over all data-parallel ranks. */
export function factsOf({ version, internal_states }: ServerInfo): Pick<EngineDescription, 'version' | 'maxRunning'> {
  const maxRunning = internal_states?.reduce(
    (sum, state) => sum + (state.effective_max_running_requests_per_dp ?? 0),
    0,
  )
  return { ...(version && { version }), ...(maxRunning && { maxRunning }) }
}
