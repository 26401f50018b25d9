import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MockActivityEnvironment } from '@temporalio/testing'
import type { TokenizePlan } from '../../../activities/tokenize/plan/plan-file.ts'
import type { ReadModel } from '../../../activities/tokenize/rows/tokenize-conversation.ts'
import { toValue } from '../../../activities/tokenize/template/values.ts'
import { createTokenizeActivities } from '../../../activities/tokenize/tokenize-activities.ts'
import type { Message } from '../../../domain/prompt.ts'
import type { GeneratedTurn, Sample } from '../../../domain/sample.ts'
import { skeletonText } from '../../../domain/skeleton.ts'
import { parseTokenizeRequest } from '../../../domain/tokenize-request.ts'
import type { TokenizedManifest } from '../../../domain/tokenized.ts'
import { id128 } from '../../../shuffle/digest.ts'
import { createOpenStore } from '../../../store/open-store.ts'
import { modelFolder, realModel } from '../../harness/models.ts'
import type { Scene } from '../merge/arrange.ts'

export const qwen = modelFolder('qwen3')

export const user = (content: string): Message => ({ role: 'user', content })

export interface SampleWish {
  n: number
  /** The turns before each answer, and the answers. */
  turns?: { asked: Message[]; answer: string }[]
  source?: string
  /** The last answer was cut at the token limit. */
  isCut?: boolean
  /** Without ids, as chat mode leaves samples. */
  isTextOnly?: boolean
}

/** A sample as an engine that serves Qwen3 would give it. */
export async function sampleByQwen(wish: SampleWish): Promise<Sample> {
  return await sampleBy(await realModel('qwen3'), wish)
}

/** A sample as an engine that serves a model would give it. */
export async function sampleBy({ tokens, template, endIds }: ReadModel, wish: SampleWish): Promise<Sample> {
  const { n, source = 'fresh', isCut = false, isTextOnly = false } = wish
  const asked = wish.turns ?? [{ asked: [user(`question ${n}`)], answer: `answer ${n}: it is ${n * 37}.` }]
  const messages: Message[] = []
  const turns: GeneratedTurn[] = []
  for (const [at, { asked: before, answer }] of asked.entries()) {
    messages.push(...before)
    const isLastCut = isCut && at === asked.length - 1
    const prompt = template!.render(messages.map(toValue), { kwargs: new Map() }, true)
    const promptIds = [...(await tokens.encodeByLibrary(prompt))]
    const outputIds = [...((await tokens.encode([answer]))[0] ?? []), ...(isLastCut ? [] : endIds)]
    turns.push({
      ...(!isTextOnly && { promptIds, outputIds }),
      text: answer,
      finishReason: isLastCut ? 'length' : 'stop',
      usage: {
        promptTokens: promptIds.length,
        completionTokens: outputIds.length,
        cachedTokens: 0,
        reasoningTokens: 0,
      },
      ...{ rid: 'r', attempts: 1, startedAt: '2026-01-01T00:00:00.000Z', durationMs: 1 },
    })
    messages.push({ role: 'assistant', content: answer })
  }
  return {
    promptId: id128(skeletonText(messages.filter(({ role }) => role !== 'assistant'))),
    source,
    messages,
    finishReason: isCut ? 'length' : 'stop',
    truncated: isCut,
    usage: turns[0]!.usage,
    ...{ model: 'qwen3', weightVersion: 'w1', engine: 'gpu-0', sampling: { maxNewTokens: 100 } },
    turns,
    provenance: { file: 'a.jsonl', row: n },
  }
}

export async function samplesByQwen(from: number, to: number, more: Partial<SampleWish> = {}): Promise<Sample[]> {
  const samples: Sample[] = []
  for (let n = from; n < to; n++) samples.push(await sampleByQwen({ n, ...more }))
  return samples
}

const silent = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} }

function inActivity<T>(work: () => Promise<T>): Promise<T> {
  return new MockActivityEnvironment({}, { logger: silent }).run(work)
}

interface Logged {
  message: string
  [fact: string]: unknown
}

/** What the activities logged. */
export const logged: Logged[] = []

const scratch = mkdtempSync(join(tmpdir(), 'tokenize-'))

/** One set for all tests of a file: reading a vocabulary takes its time. */
const activities = createTokenizeActivities({
  ...{ openStore: createOpenStore(), defaultStore: 'file:///nowhere', scratch, threads: 1 },
  log: (message, facts) => logged.push({ message, ...facts }),
})

export type StageInput = { run: string } | { dataset: string; version?: number }

/** The stage's steps, as the workflow takes them when nobody interferes. */
export function stage(scene: Scene) {
  const plan = (input: StageInput, tokenize: Record<string, unknown> = {}) => {
    const from = 'run' in input ? { run: `${scene.runs}/runs/${input.run}/manifest.json` } : input
    const request = parseTokenizeRequest({ tokenize: { uri: tokensUri(scene), tokenizer: qwen, ...tokenize }, ...from })
    return inActivity(() => activities.planTokenize(request))
  }
  const tokenize = (plan: TokenizePlan) =>
    inActivity(() => activities.tokenizeUnits({ plan, first: 0, count: plan.units }))
  const make = (plan: TokenizePlan) => inActivity(() => activities.makeTokenVersion(plan))
  const publish = async (plan: TokenizePlan, made: { version: number; manifestHash: string }) => {
    const isPublished = await inActivity(() => activities.publishTokenVersion({ plan, made }))
    await inActivity(() => activities.forgetUnits(plan))
    return isPublished
  }
  const run = async (input: StageInput, options: Record<string, unknown> = {}) => {
    const planned = await plan(input, options)
    if (planned.madeBefore !== undefined) return { planned }
    const done = await tokenize(planned)
    const made = await make(planned)
    if (made) await publish(planned, made)
    return { planned, made, done }
  }
  return { plan, tokenize, make, publish, run }
}

export function tokensUri(scene: Scene): string {
  return `file://${scene.path('tokens')}`
}

export function tokenManifest(scene: Scene, version?: number): TokenizedManifest {
  const current = version ?? JSON.parse(scene.read('tokens/current.json')).version
  return JSON.parse(readFileSync(scene.path(`tokens/v${String(current).padStart(4, '0')}/manifest.json`), 'utf8'))
}

/** Changes a byte in the rows of every unit that is kept. */
export function damageUnits(scene: Scene): void {
  const folder = scene.path('tokens/_work/units')
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.rows'))) {
    const bytes = readFileSync(join(folder, name))
    bytes[30] = (bytes[30] ?? 0) ^ 1
    writeFileSync(join(folder, name), bytes)
  }
}
