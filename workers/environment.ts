import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { HubOptions } from '../formats/places/hub-cache.ts'
import type { S3Options } from '../store/s3-options.ts'

/** What processes read from their environment, resolved once: nothing else looks at `process.env`. */
export interface Environment {
  /** Local state: Temporal database, scratch, logs, and the default store. `LONGHAUL_HOME`, or `~/.longhaul`. */
  home: string
  /** Downloads that any version may use. */
  cacheFolder: string
  /** Store of runs whose spec names none. `LONGHAUL_STORE`, or a folder of the home. */
  defaultStore: string
  /** Local disk for journals and shuffles. `LONGHAUL_SCRATCH`, or a folder of the home. */
  scratch: string
  s3: S3Options
  /** For sources on the Hugging Face hub: `HF_TOKEN`, `HF_ENDPOINT`; the cache is found by Hugging Face's own variables. */
  hub: HubOptions
  /** Key that engines ask for. `LONGHAUL_ENGINE_API_KEY`. */
  engineApiKey: string | undefined
  path: string
  /** Handed on to servers that a worker runs. */
  launchEnv: NodeJS.ProcessEnv
}

export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  const home = env.LONGHAUL_HOME ?? join(homedir(), '.longhaul')
  return {
    home,
    cacheFolder: join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'longhaul'),
    defaultStore: env.LONGHAUL_STORE ?? `file://${join(home, 'store')}`,
    scratch: env.LONGHAUL_SCRATCH ?? join(home, 'scratch'),
    s3: readS3Options(env),
    hub: readHubOptions(env),
    engineApiKey: env.LONGHAUL_ENGINE_API_KEY,
    path: env.PATH ?? '',
    launchEnv: env,
  }
}

function readHubOptions({ HF_TOKEN, HF_ENDPOINT }: NodeJS.ProcessEnv): HubOptions {
  return { ...(HF_TOKEN && { accessToken: HF_TOKEN }), ...(HF_ENDPOINT && { hubUrl: HF_ENDPOINT }) }
}

/** The AWS variables are read by the SDK itself; these are for what it has none for. */
function readS3Options(env: NodeJS.ProcessEnv): S3Options {
  const endpoint = env.LONGHAUL_S3_ENDPOINT ?? env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL
  const region = env.AWS_REGION ?? env.AWS_DEFAULT_REGION
  const checksums = env.LONGHAUL_S3_CHECKSUMS as S3Options['checksums']
  return { ...(endpoint && { endpoint }), ...(region && { region }), ...(checksums && { checksums }) }
}

/** Root of the checkout, from built and from source files alike. */
export function projectRoot(): string {
  const here = fileURLToPath(new URL('.', import.meta.url))
  return here.includes(join('dist', 'workers')) ? join(here, '..', '..') : join(here, '..')
}

/** The workflow bundle that workers and replay load. */
export function workflowBundlePath(): string {
  return join(projectRoot(), 'dist', 'workflow-bundle.js')
}
