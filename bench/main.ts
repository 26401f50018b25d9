import { readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

export interface BenchOptions {
  /** A small run, to see that it works; its figures mean little. */
  quick: boolean
}

/** What every benchmark exports as its default. Its result is printed as the last line, as JSON. */
export type Bench = (options: BenchOptions) => Promise<Record<string, unknown>>

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false } },
})
const [name = ''] = positionals
const folder = dirname(fileURLToPath(import.meta.url))
const names = (await readdir(folder))
  .filter((file) => file.endsWith('.js') && file !== 'main.js')
  .map((file) => basename(file, '.js'))

if (!names.includes(name)) {
  process.stderr.write(`Which benchmark? npm run -s bench -- NAME [--quick], with NAME one of ${names.join(', ')}.\n`)
  process.exit(2)
}
const { default: bench } = (await import(`./${name}.js`)) as { default: Bench }
const result = await bench({ quick: values.quick })
process.stdout.write(`${JSON.stringify({ bench: name, quick: values.quick, ...result })}\n`)
// Connections of what was measured may be open still.
process.exit()
