import { defaultTimings, type EngineTimings } from '../activities/generate/engine-timings.ts'

/** Reads `lostAfterMs=30000,stallMs=60000`. Throws an error that names what is wrong. */
export function parseTimings(text: string): Partial<EngineTimings> {
  const timings: Partial<EngineTimings> = {}
  for (const part of text.split(',').filter(Boolean)) {
    const [name = '', value = ''] = part.split('=')
    if (!(name in defaultTimings)) throw new Error(`"${name}" is none of ${Object.keys(defaultTimings).join(', ')}`)
    const milliseconds = Number(value)
    if (!Number.isFinite(milliseconds) || milliseconds < 0) throw new Error(`"${part}" has no number of milliseconds`)
    timings[name as keyof EngineTimings] = milliseconds
  }
  return timings
}

/** An engine's task queue and the URL of its server. */
export interface EngineAddress {
  queue: string
  url: string
}

/**
 * Reads a list of engines: URLs, which get the queues `gpu-0`, `gpu-1` and so on, or `queue=url`; a range of ports may stand
 * for several: `http://127.0.0.1:30000-30007`.
 */
export function parseEngines(text: string): EngineAddress[] {
  const engines: EngineAddress[] = []
  for (const part of text.split(',').filter(Boolean)) {
    const [, queue, address = ''] = /^(?:([A-Za-z0-9][\w.-]*)=)?(.*)$/.exec(part) ?? []
    const urls = withPorts(address)
    if (queue && urls.length > 1) throw new Error(`"${part}": a range of ports can't share one queue`)
    for (const url of urls) {
      if (!URL.canParse(url) || !/^https?:/.test(url)) throw new Error(`"${url}" is no http(s) URL`)
      engines.push({ queue: queue ?? `gpu-${engines.length}`, url })
    }
  }
  if (engines.length === 0) throw new Error('it names no engine')
  return engines
}

function withPorts(address: string): string[] {
  const [, base = '', first, last] = /^(https?:\/\/[^/]+:)(\d+)-(\d+)$/.exec(address) ?? []
  if (first === undefined || last === undefined) return [address]
  return Array.from({ length: Number(last) - Number(first) + 1 }, (_, n) => `${base}${Number(first) + n}`)
}
