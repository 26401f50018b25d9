import type { EngineLoad } from './engine-client.ts'
import type { EngineHttp, HttpReply } from './http.ts'
import { jsonOf } from './said.ts'

const deadlineMs = 5_000

/** Ways to learn how busy a server is, the most telling first. */
const ways: readonly { path: string; read: (reply: HttpReply) => EngineLoad | undefined }[] = [
  { path: '/v1/loads', read: readLoads },
  { path: '/get_load', read: readLegacyLoad },
  { path: '/metrics', read: readMetrics },
]

/** Asks a server how busy it is, by the first way that it knows; which one that is, is found once. */
export class LoadReader {
  #way: (typeof ways)[number] | undefined
  #knowsNone = false

  constructor(private readonly http: EngineHttp) {}

  /** Undefined where the server tells it in no way. Throws `NoReply` when it does not answer. */
  async read(): Promise<EngineLoad | undefined> {
    if (this.#knowsNone) return undefined
    for (const way of this.#way ? [this.#way] : ways) {
      const reply = await this.http.get(way.path, { deadlineMs })
      const load = reply.status === 200 ? way.read(reply) : undefined
      if (!load) continue
      this.#way = way
      return load
    }
    // A server that knew a way once is only in trouble now; one that never did will not learn it.
    this.#knowsNone = this.#way === undefined
    return undefined
  }
}

interface Load {
  num_running_reqs?: number
  num_waiting_reqs?: number
  num_used_tokens?: number
  num_total_tokens?: number
  gen_throughput?: number
  token_usage?: number
}

function readLoads(reply: HttpReply): EngineLoad | undefined {
  const { loads } = (jsonOf(reply) ?? {}) as { loads?: Load[] }
  if (!Array.isArray(loads)) return undefined
  const sum = (field: (load: Load) => number | undefined) =>
    loads.reduce((total, load) => total + (field(load) ?? 0), 0)
  return {
    running: sum((load) => load.num_running_reqs),
    waiting: sum((load) => load.num_waiting_reqs),
    tokenMark: JSON.stringify(loads.map((load) => [load.num_used_tokens, load.num_total_tokens, load.gen_throughput])),
    tokensPerSecond: sum((load) => load.gen_throughput),
    kvUsage: Math.max(0, ...loads.map((load) => load.token_usage ?? 0)),
  }
}

interface LegacyLoad {
  num_reqs?: number
  num_waiting_reqs?: number
  num_tokens?: number
}

/** SGLang's older form: requests and tokens by data-parallel rank. */
function readLegacyLoad(reply: HttpReply): EngineLoad | undefined {
  const ranks = jsonOf(reply) as LegacyLoad[]
  if (!Array.isArray(ranks)) return undefined
  const sum = (field: (rank: LegacyLoad) => number | undefined) =>
    ranks.reduce((total, rank) => total + (field(rank) ?? 0), 0)
  const waiting = sum((rank) => rank.num_waiting_reqs)
  return {
    running: Math.max(0, sum((rank) => rank.num_reqs) - waiting),
    waiting,
    tokenMark: JSON.stringify(ranks.map((rank) => [rank.num_reqs, rank.num_tokens])),
  }
}

/** Prometheus names by server: SGLang, vLLM, llama.cpp. */
const metricNames = {
  running: ['sglang:num_running_reqs', 'vllm:num_requests_running', 'llamacpp:requests_processing'],
  waiting: ['sglang:num_queue_reqs', 'vllm:num_requests_waiting', 'llamacpp:requests_deferred'],
  tokens: ['sglang:generation_tokens_total', 'vllm:generation_tokens_total', 'llamacpp:tokens_predicted_total'],
}

function readMetrics({ body }: HttpReply): EngineLoad | undefined {
  const values = new Map<string, number>()
  for (const line of body.split('\n')) {
    const [, name, value] = /^([A-Za-z_:][\w:]*)(?:\{[^}]*\})?\s+(\S+)/.exec(line) ?? []
    if (name) values.set(name, (values.get(name) ?? 0) + Number(value))
  }
  const first = (names: string[]) => names.map((name) => values.get(name)).find((value) => value !== undefined)
  const running = first(metricNames.running)
  if (running === undefined) return undefined
  return { running, waiting: first(metricNames.waiting) ?? 0, tokenMark: String(first(metricNames.tokens)) }
}
