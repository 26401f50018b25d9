import { createHash } from 'node:crypto'
import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkRun, type RunCheck } from '../../../activities/verify/check-run.ts'
import type { FindingKind } from '../../../activities/verify/findings.ts'
import type { RunManifest, ShardCommit } from '../../../domain/commit.ts'
import { createOpenStore } from '../../../store/open-store.ts'
import { putJson } from '../../../store/put-json.ts'
import { readJson } from '../../../store/read-object.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { promptOf, RunInStore, sampleOf } from '../../harness/run-in-store.ts'

let home: string
let store: ObjectStore
let run: RunInStore

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'longhaul-verify-'))
  store = createOpenStore()(`file://${join(home, 'store')}`)
  run = await RunInStore.finished({ store, scratch: join(home, 'scratch'), shardSizes: [20, 10, 5] })
})
afterEach(() => rm(home, { recursive: true }))

const path = (key: string) => join(home, 'store', key)
const check = () => checkRun(store, 'r')
const kindsOf = ({ findings }: RunCheck): FindingKind[] => findings.map(({ kind }) => kind)

async function editJson<T>(key: string, change: (value: T) => void): Promise<void> {
  const value = await readJson<T>(store, key)
  change(value)
  await putJson(store, key, value)
}

/** Writes rows of a sample object anew, with bytes and hash in the commit record that fit them. */
async function rewriteSamples(shard: number, change: (rows: string[]) => string[]): Promise<void> {
  const key = run.keys.samples(shard)
  const rows = gunzipSync(await readFile(path(key)))
    .toString()
    .trimEnd()
    .split('\n')
  await writeFile(path(key), gzipSync(`${change(rows).join('\n')}\n`))
  const bytes = await readFile(path(key))
  await editJson<ShardCommit>(run.keys.commit(shard), ({ sampleObjects: [object] }) => {
    Object.assign(object!, { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') })
  })
}

describe('a whole run', () => {
  it('is found to be whole, every object read once', async () => {
    const gets: string[] = []
    const counting = new Proxy(store, {
      get: (target, name) => {
        if (name !== 'get') return Reflect.get(target, name).bind(target)
        return (key: string) => {
          gets.push(key)
          return target.get(key)
        }
      },
    })
    const found = await checkRun(counting, 'r')
    expect(found).toMatchObject({ findings: [], strays: [], shards: 3, committed: 3, manifest: 'agrees' })
    expect(found.facts).toMatchObject({ prompts: 35, samples: 28, failures: 7 })
    expect(found.read).toMatchObject({ objects: 9, rows: 70 })
    for (const { key } of [...found.facts.sampleObjects, ...found.facts.failureObjects, ...found.facts.promptObjects])
      expect(gets.filter((got) => got === key)).toHaveLength(1)
  })

  it('of zstd objects is found to be whole', async () => {
    const options = { store, scratch: join(home, 'scratch'), run: 'z', shardSizes: [12], spec: { compression: 'zstd' } }
    const zstd = await RunInStore.finished(options)
    expect(await checkRun(store, 'z')).toMatchObject({ findings: [], strays: [], manifest: 'agrees' })
    expect(await store.head(zstd.keys.samples(0, 0, 'zstd'))).toBeDefined()
  })
})

describe('a run that is not whole', () => {
  it('has a changed byte', async () => {
    const key = run.keys.samples(1)
    const bytes = await readFile(path(key))
    // In the header of the gzip member: its rows read as before.
    bytes[4]! ^= 1
    await writeFile(path(key), bytes)
    const { findings } = await check()
    expect(findings).toEqual([
      {
        kind: 'objectChanged',
        shard: 1,
        key,
        message: expect.stringMatching(/has changed: SHA-256 \w{64} instead of \w{64}$/),
      },
    ])
  })

  it('has a changed byte in a prompt, a failure or the plan', async () => {
    const [prompts, failures] = [run.keys.prompts(0), run.keys.failures(0)]
    for (const key of [prompts, failures]) {
      const text = await readFile(path(key), 'utf8')
      await writeFile(path(key), text.replace('Question', 'question'))
    }
    const { findings } = await check()
    expect(findings.map(({ kind, key }) => [kind, key])).toEqual([
      ['objectChanged', failures],
      ['manifestWrong', run.keys.manifest],
    ])
    expect(findings[1]?.message).toMatch(/promptObjects\.runs\/r\/prompts\/00000\.jsonl\.sha256 is/)
  })

  it('has an object missing', async () => {
    await store.delete(run.keys.samples(2))
    const found = await check()
    expect(kindsOf(found)).toEqual(['objectMissing', 'promptLost'])
    expect(found.findings[1]).toMatchObject({ shard: 2, prompts: { count: 4 } })
  })

  it('has a truncated gz', async () => {
    const key = run.keys.samples(0)
    await truncate(path(key), (await readFile(path(key))).length - 20)
    const found = await check()
    expect(kindsOf(found)).toEqual(['objectChanged', 'promptLost'])
    expect(found.findings[0]?.message).toMatch(
      /bytes instead of .*it is damaged: its gzip data gives unexpected end of file/,
    )
  })

  it('has a gz that was written broken', async () => {
    const key = run.keys.samples(0)
    await truncate(path(key), 60)
    const bytes = await readFile(path(key))
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    await editJson<ShardCommit>(run.keys.commit(0), ({ sampleObjects: [object] }) => {
      Object.assign(object!, { bytes: bytes.length, sha256 })
    })
    expect(kindsOf(await check()).slice(0, 1)).toEqual(['objectUnreadable'])
  })

  it('has a row that is no JSON', async () => {
    await rewriteSamples(0, (rows) => rows.with(3, '{"promptId":"torn'))
    const { findings } = await check()
    expect(findings[0]).toMatchObject({ kind: 'objectUnreadable', message: expect.stringMatching(/row 4 is no JSON/) })
  })

  it('has an id missing', async () => {
    await rewriteSamples(0, (rows) => rows.slice(1))
    const found = await check()
    expect(kindsOf(found).slice(0, 2)).toEqual(['wrongCount', 'promptLost'])
    expect(found.findings[1]).toMatchObject({ shard: 0, prompts: { count: 1, first: [promptOf(0).promptId] } })
  })

  it('has an id twice in one object', async () => {
    await rewriteSamples(0, (rows) => rows.with(1, rows[0]!))
    const { findings } = await check()
    const messages = findings.map(({ message }) => message).join('\n')
    expect(messages).toContain(`1 prompt ended more than once, in ${run.keys.samples(0)}: ${promptOf(0).promptId}`)
    expect(messages).toContain(`1 prompt ended nowhere: ${promptOf(1).promptId}`)
  })

  it('has an id in two objects of a shard', async () => {
    const key = run.keys.samples(0, 1)
    const body = gzipSync(`${JSON.stringify(sampleOf(promptOf(2)))}\n`)
    await store.put(key, body)
    await editJson<ShardCommit>(run.keys.commit(0), ({ sampleObjects }) => {
      sampleObjects.push({ key, rows: 1, bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') })
    })
    const twice = (await check()).findings.find(({ kind }) => kind === 'promptTwice')
    expect(twice?.message).toBe(
      `shard 00000: 1 prompt ended more than once, in ${run.keys.samples(0)}, ${key}: ${promptOf(2).promptId}`,
    )
  })

  it('has a row of another shard', async () => {
    await rewriteSamples(0, (rows) => [...rows, JSON.stringify(sampleOf(promptOf(30)))])
    expect(kindsOf(await check())).toContain('promptStrange')
  })

  it.each([
    ['samples', 99],
    ['failures', 0],
    ['truncated', 17],
    ['outputTokens', 1],
    ['inputTokens', 1],
    ['reasons', { timeout: 3 }],
    ['sources', { samples: { even: 1, odd: 1 }, failures: {} }],
    ['prompts', 21],
    ['shard', 1],
  ])('has a commit record with a wrong %s', async (field, value) => {
    await editJson<Record<string, unknown>>(run.keys.commit(0), (commit) => {
      commit[field] = value
    })
    const wrong = (await check()).findings.filter(({ kind }) => kind === 'wrongCount')
    expect(wrong[0]).toMatchObject({ key: run.keys.commit(0), message: expect.stringContaining(field) })
  })

  it('has a commit record with wrong rows of an object', async () => {
    await editJson<ShardCommit>(run.keys.commit(0), ({ sampleObjects: [object] }) => {
      object!.rows = 3
    })
    expect((await check()).findings[0]).toMatchObject({
      kind: 'wrongCount',
      message: `${run.keys.samples(0)} has 16 rows, its record says 3`,
    })
  })

  it('has a manifest with a wrong count or object', async () => {
    await editJson<RunManifest>(run.keys.manifest, (manifest) => {
      manifest.samples = 29
      manifest.sampleObjects.shift()
    })
    const found = await check()
    expect(found.findings.map(({ message }) => message)).toEqual([
      'manifest.json: samples is 29 instead of 28',
      expect.stringMatching(/^manifest\.json: sampleObjects\.runs\/r\/samples\/00000\.jsonl\.gz is nothing instead of/),
    ])
  })

  it('has a shard that is not committed', async () => {
    await store.delete(run.keys.commit(1))
    await store.delete(run.keys.manifest)
    const found = await check()
    expect(kindsOf(found)[0]).toBe('shardNotCommitted')
    expect(found.strays.map(({ key, kind }) => [key, kind])).toContainEqual([run.keys.samples(1), 'uncommitted'])
  })

  it('has a commit record that is no JSON', async () => {
    await appendFile(path(run.keys.commit(1)), 'torn')
    expect(kindsOf(await check())[0]).toBe('recordUnreadable')
  })

  it('has a commit record of a shard that was never planned', async () => {
    await store.copy(run.keys.commit(1), run.keys.commit(7))
    expect(kindsOf(await check())).toContain('planChanged')
  })

  it('has a plan of other prompts', async () => {
    await editJson<{ idsHash: string }>(run.keys.plan, (plan) => {
      plan.idsHash = '0'.repeat(64)
    })
    expect(kindsOf(await check())).toContain('planChanged')
  })
})

describe('objects that no record names', () => {
  it('are reported apart: the run is whole', async () => {
    await store.put(run.keys.samples(0, 1), gzipSync('left by a dispatch that came too late\n'))
    await store.put(run.keys.failures(2, 3), '')
    await store.put(`${run.keys.samplesFolder}notes.txt`, 'mine')
    await store.put(run.keys.prompts(9), '')
    const { findings, strays } = await check()
    expect(findings).toEqual([])
    expect(strays.map(({ key, kind }) => [key, kind])).toEqual([
      [run.keys.samples(0, 1), 'orphan'],
      [`${run.keys.samplesFolder}notes.txt`, 'unknown'],
      [run.keys.failures(2, 3), 'orphan'],
      [run.keys.prompts(9), 'orphan'],
    ])
  })
})

describe('findings', () => {
  it('about many prompts are one, with the first of them', async () => {
    const big = await RunInStore.finished({ store, scratch: join(home, 'scratch'), run: 'big', shardSizes: [100] })
    await store.delete(big.keys.samples(0))
    const lost = (await checkRun(store, 'big')).findings.find(({ kind }) => kind === 'promptLost')
    expect(lost?.prompts?.count).toBe(80)
    expect(lost?.prompts?.first).toHaveLength(20)
    expect(lost?.message).toMatch(/80 prompts ended nowhere: .*, and 60 more$/)
  })
})
