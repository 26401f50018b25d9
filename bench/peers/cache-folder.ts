import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where benchmarks put what they install and write: outside of the checkout, kept between runs. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'longhaul')
}
