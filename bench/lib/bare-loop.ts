import { createWriteStream } from 'node:fs'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'

/**
 * What one would write by hand: a pool of connections for each server, a semaphore, a line of JSON for each answer. No
 * accounting, no resuming, no failures. Prints `{"seconds":…,"cpuSeconds":…,"outputTokens":…}`.
 */
const { values } = parseArgs({
  options: {
    urls: { type: 'string', default: '' },
    prompts: { type: 'string', default: '1000' },
    concurrency: { type: 'string', default: '81' },
    'max-tokens': { type: 'string', default: '8192' },
    output: { type: 'string', default: '/dev/null' },
  },
})
const urls = values.urls.split(',')
const concurrency = Number(values.concurrency)
const prompts = Number(values.prompts)
const pools = urls.map(
  (url) =>
    new Pool(url, {
      connections: concurrency,
      pipelining: 1,
      keepAliveTimeout: 3_000,
      headersTimeout: 0,
      bodyTimeout: 0,
    }),
)
const output = createWriteStream(values.output)
let next = 0
let outputTokens = 0

async function work(pool: Pool): Promise<void> {
  while (next < prompts) {
    const n = next++
    const body = {
      text: `Question ${n}: what follows from ${n * 7919}?`,
      sampling_params: { max_new_tokens: Number(values['max-tokens']) },
    }
    const reply = await pool.request({
      method: 'POST',
      path: '/generate',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const answer = (await reply.body.json()) as { text: string; meta_info: { completion_tokens: number } }
    outputTokens += answer.meta_info.completion_tokens
    output.write(`${JSON.stringify({ n, text: answer.text })}\n`)
  }
}

const before = process.cpuUsage()
const startedAt = performance.now()
await Promise.all(pools.flatMap((pool) => Array.from({ length: concurrency }, () => work(pool))))
const seconds = (performance.now() - startedAt) / 1000
const { user, system } = process.cpuUsage(before)
await Promise.all(pools.map((pool) => pool.close()))
process.stdout.write(`${JSON.stringify({ seconds, cpuSeconds: (user + system) / 1e6, outputTokens })}\n`)
