import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hubFiles } from '../../../formats/places/hub-files.ts'
import { HubStandIn } from '../../servers/hub-stand-in.ts'
import { prepared } from '../prepare/prepared.ts'

const rows = (text: string, count: number) =>
  Buffer.from(Array.from({ length: count }, (_, n) => `${JSON.stringify({ prompt: `${text} ${n}` })}\n`).join(''))
const files = {
  'README.md': Buffer.from('# A dataset'),
  'dataset_infos.json': Buffer.from('{}'),
  'data/train-00000-of-00002.jsonl': rows('train', 20_000),
  'data/train-00001-of-00002.jsonl': rows('more', 10),
  'data/test-00000-of-00001.jsonl': rows('test', 5),
}

let cacheDir: string
let hub: HubStandIn
beforeEach(async () => {
  cacheDir = await mkdtemp(join(tmpdir(), 'longhaul-hub-'))
  hub = await HubStandIn.start('owner/set', { files, token: 'hf_secret' })
})
afterEach(async () => {
  await hub.close()
  await rm(cacheDir, { recursive: true, force: true })
})

const options = () => ({ hubUrl: hub.url, accessToken: 'hf_secret', cacheDir })
const names = async (uri: string) => (await hubFiles(uri, options())).map(({ name }) => name)

describe('datasets on the hub', () => {
  it('give all their data files, those of a folder, of a glob, or one', async () => {
    const [test, first, second] = ['test-00000-of-00001', 'train-00000-of-00002', 'train-00001-of-00002']
    expect(await names('hf://datasets/owner/set')).toEqual([test, first, second].map((name) => `data/${name}.jsonl`))
    expect(await names('hf://datasets/owner/set@main/data')).toEqual(
      [test, first, second].map((name) => `${name}.jsonl`),
    )
    expect(await names('hf://datasets/owner/set/data/train-*')).toEqual([first, second].map((name) => `${name}.jsonl`))
    expect(await names(`hf://datasets/owner/set/data/${test}.jsonl`)).toEqual([`${test}.jsonl`])
  })

  it('are pinned to the commit that was current, and say so', async () => {
    const [file] = await hubFiles('hf://datasets/owner/set/data/test-*', options())
    expect(file?.uri).toBe(`hf://datasets/owner/set@${hub.sha}/data/test-00000-of-00001.jsonl`)
  })

  it('are downloaded once, and taken up again where a connection broke', async () => {
    const [file] = await hubFiles('hf://datasets/owner/set/data/train-00000-of-00002.jsonl', options())
    const content = files['data/train-00000-of-00002.jsonl']
    hub.breakAfter.push(100_000, 200_000, 0)
    const path = await file!.localPath()
    expect(readFileSync(path).equals(content)).toBe(true)
    const starts = hub.downloads.map((request) => Number(/bytes=(\d+)-/.exec(request)?.[1] ?? 0))
    expect(starts).toEqual([0, expect.any(Number), expect.any(Number), starts[2]])
    expect(starts[1]).toBeGreaterThan(50_000)
    expect(starts[2]).toBeGreaterThan((starts[1] ?? 0) + 100_000)
    await file!.localPath()
    expect(hub.downloads).toHaveLength(4)
  })

  it('go on with what an earlier process had downloaded', async () => {
    const [file] = await hubFiles('hf://datasets/owner/set/data/train-00000-of-00002.jsonl', options())
    hub.breakAfter.push(50_000, 0, 0, 0, 0, 0)
    await expect(file!.localPath()).rejects.toThrow("can't be downloaded")
    const before = hub.downloads.length
    await file!.localPath()
    expect(hub.downloads.slice(before)).toEqual([expect.stringMatching(/bytes=[1-9]\d{4}-/)])
  })

  it('are refused when they arrive as something else', async () => {
    const [file] = await hubFiles('hf://datasets/owner/set/data/test-00000-of-00001.jsonl', options())
    hub.options.files = { ...files, 'data/test-00000-of-00001.jsonl': rows('evil', 5) }
    await expect(file!.localPath()).rejects.toThrow('arrived as something else')
  })

  it('that need a token say so', async () => {
    await expect(hubFiles('hf://datasets/owner/set', { ...options(), accessToken: undefined })).rejects.toThrow(
      /can't be listed.*needs a token/,
    )
    await expect(hubFiles('hf://datasets/owner/set@nope', options())).rejects.toThrow("can't be listed")
    await expect(hubFiles('hf://models/owner/set', options())).rejects.toThrow('is not of the form')
  })

  it('are sources of a run, with the split in the provenance', async () => {
    const { plan, prompts } = await prepared(
      { sources: ['hf://datasets/owner/set/data/test-*'] },
      { deps: { hub: options() } },
    )
    expect(plan.prompts).toBe(5)
    expect(prompts[0]?.provenance).toMatchObject({ file: 'test-00000-of-00001.jsonl', split: 'test' })
  })
})
