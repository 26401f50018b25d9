import { mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder } from './peers/cache-folder.ts'
import { measured } from './peers/measured.ts'
import { pythonWith } from './peers/python.ts'
import { writeRows } from './prepare/write-rows.ts'

const projectRoot = fileURLToPath(new URL('../..', import.meta.url))
const script = (name: string) => join(projectRoot, 'bench', 'prepare', name)
const threads = 2

interface Figures {
  cpuSeconds: number
  wallSeconds: number
  peakRssMb: number
  rows: number
}

/**
 * Read, deduplicate, shuffle and write chats of 3 KB in JSONL, of which the users' turns stay: Longhaul's prepare against
 * DuckDB and Hugging Face datasets, each in a process of its own, on the same file, with the same cores.
 */
export default async function prepareBenchmark({ quick }: { quick: boolean }): Promise<Record<string, unknown>> {
  const folder = join(cacheFolder(), 'bench', 'prepare')
  await mkdir(folder, { recursive: true })
  const python = await pythonWith(['duckdb==2.0.1', 'datasets==5.2.0'])
  const sizes = quick ? [50_000] : [200_000, 1_000_000, 4_000_000]
  const results = []
  for (const rows of sizes) {
    const input = join(folder, `rows-${rows}.jsonl`)
    await writeRows(input, rows)
    const bytes = (await stat(input)).size
    const run = async (name: string, command: string[]): Promise<Figures | string> => {
      const output = join(folder, `out-${name}`)
      await rm(output, { recursive: true, force: true })
      await mkdir(output)
      process.stderr.write(`${name}, ${rows} rows …\n`)
      const figures = await measured<Figures>([...command, input, output, String(threads)])
      await rm(output, { recursive: true, force: true })
      process.stderr.write(`${name}, ${rows} rows: ${JSON.stringify(figures)}\n`)
      return figures
    }
    const longhaul = await run('longhaul', [
      process.execPath,
      fileURLToPath(new URL('prepare/ours.js', import.meta.url)),
    ])
    const duckdb = await run('duckdb', [python, script('duckdb_peer.py')])
    const datasets = await run('datasets', [python, script('datasets_peer.py')])
    results.push({ rows, bytes, longhaul, duckdb, datasets })
    await rm(input)
  }
  return { quick, threads, ...summaryOf(results), sizes: results }
}

interface Result {
  rows: number
  bytes: number
  longhaul: Figures | string
  duckdb: Figures | string
  datasets: Figures | string
}

/** The worst over all sizes. A peer that failed at a size has no ratio there; its message stands in `sizes`. */
function summaryOf(results: readonly Result[]): Record<string, number | null> {
  const own = results.map(({ longhaul, bytes, rows }) => {
    if (typeof longhaul === 'string') throw new Error(`prepare failed at ${rows} rows: ${longhaul}`)
    return { ...longhaul, bytes }
  })
  const against = (peer: 'duckdb' | 'datasets') => {
    const ratios = results.flatMap((result, n) => {
      const other = result[peer]
      return typeof other === 'string' ? [] : [(own[n]?.cpuSeconds ?? 0) / other.cpuSeconds]
    })
    return ratios.length > 0 ? rounded(Math.max(...ratios)) : null
  }
  return {
    mb_per_cpu_s: rounded(Math.min(...own.map(({ bytes, cpuSeconds }) => bytes / 1e6 / cpuSeconds))),
    mb_per_s: rounded(Math.min(...own.map(({ bytes, wallSeconds }) => bytes / 1e6 / wallSeconds))),
    peak_rss_mb: Math.max(...own.map(({ peakRssMb }) => peakRssMb)),
    cpu_vs_duckdb: against('duckdb'),
    cpu_vs_datasets: against('datasets'),
  }
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
