import { createWriteStream } from 'node:fs'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'

/**
 * What one would write by hand: a pool of connections for each server, a semaphore, the two requests that give exact ids, a
 * line of JSON for each answer. No accounting, no resuming, no failures. Prints `{"seconds":…,"cpuSeconds":…,"outputTokens":…}`.
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
    const messages = [{ role: 'user', content: `Question ${n}: what follows from ${n * 7919}?` }]
    const { tokens } = await ask<{ tokens: number[] }>(pool, '/tokenize', { messages })
    const sampling_params = { max_new_tokens: Number(values['max-tokens']) }
    const answer = await ask<Answer>(pool, '/generate', { input_ids: tokens, sampling_params })
    outputTokens += answer.meta_info.completion_tokens
    output.write(`${JSON.stringify({ messages, tokens, text: answer.text, ids: answer.output_ids })}\n`)
  }
}

interface Answer {
  text: string
  output_ids: number[]
  meta_info: { completion_tokens: number }
}

async function ask<Reply>(pool: Pool, path: string, body: unknown): Promise<Reply> {
  const headers = { 'content-type': 'application/json' }
  const reply = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) })
  return (await reply.body.json()) as Reply
}

const before = process.cpuUsage()
const startedAt = performance.now()
await Promise.all(pools.flatMap((pool) => Array.from({ length: concurrency }, () => work(pool))))
const seconds = (performance.now() - startedAt) / 1000
const { user, system } = process.cpuUsage(before)
await Promise.all(pools.map((pool) => pool.close()))
process.stdout.write(`${JSON.stringify({ seconds, cpuSeconds: (user + system) / 1e6, outputTokens })}\n`)
