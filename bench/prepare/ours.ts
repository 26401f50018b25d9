import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { prepareInStore } from '../../activities/prepare/prepare-in-store.ts'
import { parseSpec } from '../../domain/spec.ts'
import { createOpenStore } from '../../store/open-store.ts'
import { putJson } from '../../store/put-json.ts'

const [input = '', output = '', threads = '1'] = process.argv.slice(2)
const openStore = createOpenStore()
const store = `file://${join(output, 'store')}`
const spec = parseSpec({ run: 'bench', engines: 8, sources: [input] })
await putJson(openStore(store), 'runs/bench/spec.json', { spec, specHash: 'bench', frozenAt: '' })

const started = performance.now()
const { prompts } = await prepareInStore(
  { run: 'bench', store, specHash: 'bench', signal: new AbortController().signal, onProgress: () => {} },
  { openStore, scratch: join(output, 'scratch'), threads: Number(threads) },
)
const { userCPUTime, systemCPUTime } = process.resourceUsage()
process.stdout.write(
  `${JSON.stringify({
    cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
    wallSeconds: (performance.now() - started) / 1000,
    peakRssMb: await peakRssMb(),
    rows: prompts,
  })}\n`,
)

/** Of this process alone: what `resourceUsage` says begins with the parent's. */
async function peakRssMb(): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '')
  const kilobytes = /VmHWM:\s+(\d+)/.exec(status)?.[1] ?? process.resourceUsage().maxRSS
  return Math.round(Number(kilobytes) / 1024)
}
