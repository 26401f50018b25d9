import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RestoreOptions, restore } from '../../../activities/merge/backup/restore.ts'
import { backupsToRemove } from '../../../activities/merge/backup/retention.ts'
import { movePointer, readPointer } from '../../../activities/merge/versions/pointer.ts'
import { readVersion } from '../../../activities/merge/versions/read-version.ts'
import { rollBack } from '../../../activities/merge/versions/roll-back.ts'
import { diffVersions } from '../../../domain/dataset-diff.ts'
import { describeHistory, describeVersion } from '../../../domain/dataset-text.ts'
import { createOpenStore } from '../../../store/open-store.ts'
import { oldRow, range, Scene, sampleOf } from './arrange.ts'
import { inActivity, merge, mergeActivities } from './perform.ts'

let scene: Scene
beforeEach(() => {
  scene = new Scene()
})
afterEach(() => scene.remove())

const openStore = createOpenStore()
const samples = (from: number, to: number) => range(from, to).map((n) => sampleOf(n))

/** An adopted version 1 of 30 rows, and versions 2 and 3 with ten samples more each. */
async function threeVersions(options: Record<string, unknown> = {}) {
  scene.write('data/train.jsonl', range(0, 30).map(oldRow).join(''))
  scene.run('a', samples(30, 40))
  scene.run('b', samples(40, 50))
  await merge(scene, 'a', options)
  await merge(scene, 'b', options)
}

const restored = (options: Partial<RestoreOptions> & { version: number }) =>
  restore({
    ...{
      target: openStore(scene.dataset),
      backup: openStore(`${scene.dataset}-backup`),
      openStore,
      mayOverwrite: false,
    },
    now: Date.now,
    ...options,
  })

describe('rolling back', () => {
  it('makes the version before current again, and forward again', async () => {
    await threeVersions()
    const dataset = openStore(scene.dataset)
    await rollBack(dataset, { openStore, now: Date.now })
    expect(scene.pointer().version).toBe(2)
    expect(readlinkSync(scene.path('data/current'))).toBe('v0002')
    await rollBack(dataset, { openStore, now: Date.now, to: 3 })
    expect(scene.pointer().moves.map(({ to, why }) => [to, why])).toEqual([
      [1, 'adopted'],
      [2, 'merged'],
      [3, 'merged'],
      [2, 'rolled back'],
      [3, 'rolled back'],
    ])
  })

  it('takes the link away where version 1 lies in the folder itself', async () => {
    await threeVersions()
    await rollBack(openStore(scene.dataset), { openStore, now: Date.now, to: 1 })
    expect(existsSync(scene.path('data/current'))).toBe(false)
    expect(scene.rows()).toHaveLength(30)
  })

  it('refuses a version that is not whole any more, and stays where it is', async () => {
    await threeVersions()
    const [file] = scene.manifest(2).files
    rmSync(scene.path(`data/${file!.key}`))
    await expect(rollBack(openStore(scene.dataset), { openStore, now: Date.now })).rejects.toThrow(
      `${file!.key} is gone`,
    )
    expect(scene.pointer().version).toBe(3)
  })

  it('lets the run that was taken back be merged again, into the version that was made then', async () => {
    await threeVersions()
    const before = scene.read('data/v0003/manifest.json')
    await rollBack(openStore(scene.dataset), { openStore, now: Date.now })
    expect((await merge(scene, 'b')).isPublished).toBe(true)
    expect(scene.pointer().version).toBe(3)
    expect(scene.read('data/v0003/manifest.json')).toBe(before)
  })

  it('takes the next free number for another run after a roll-back, and keeps what was there', async () => {
    await threeVersions()
    await rollBack(openStore(scene.dataset), { openStore, now: Date.now })
    scene.run('c', samples(60, 65))
    await merge(scene, 'c')
    expect(scene.manifest()).toMatchObject({ version: 4, parent: { version: 2 }, rows: 45 })
    expect(scene.rows(3)).toHaveLength(50)
  })
})

describe('the pointer', () => {
  it('is not moved by who looked at it before somebody else moved it', async () => {
    await threeVersions()
    const dataset = openStore(scene.dataset)
    const seen = await readPointer(dataset)
    await rollBack(dataset, { openStore, now: Date.now })
    const target = await readVersion(dataset, 3)
    expect(await movePointer(dataset, seen, target, { at: 'now', why: 'merged' })).toBe(false)
    expect(scene.pointer().version).toBe(2)
  })

  it('counts a merge as published whose answer was lost, also when others went on from there', async () => {
    scene.run('a', samples(0, 10))
    scene.run('b', samples(20, 30))
    const { plan, made } = await merge(scene, 'a')
    await merge(scene, 'b')
    expect(await inActivity(() => mergeActivities(scene).publishVersion({ plan, made: made! }))).toBe(true)
    expect(scene.pointer().version).toBe(2)
    expect(scene.rows(1)).toHaveLength(10)
  })

  it('leaves nothing of a merge that lost but its number', async () => {
    scene.run('a', samples(0, 10))
    scene.run('b', samples(20, 30))
    const activities = mergeActivities(scene)
    const { parseMergeRequest } = await import('../../../domain/dataset-merge.ts')
    const request = parseMergeRequest({ dataset: scene.dataset, run: 'a' })
    const plan = await inActivity(() => activities.planMerge(request))
    const made = await inActivity(() => activities.mergeVersion(plan))
    await merge(scene, 'b')
    await inActivity(() => activities.publishVersion({ plan, made: made! }))
    expect(readdirSync(scene.path('data/v0001')).sort()).toEqual(['abandoned.json', 'claim.json'])
  })
})

describe('back-ups', () => {
  it('are verified copies with a seal, one for each version that was merged into', async () => {
    await threeVersions()
    const folders = readdirSync(scene.path('data-backup')).sort()
    expect(folders.map((folder) => folder.slice(0, 5))).toEqual(['v0001', 'v0002'])
    const seal = JSON.parse(scene.read(`data-backup/${folders[1]}/backup.json`))
    expect(seal).toMatchObject({
      dataset: scene.dataset,
      version: 2,
      manifestHash: scene.manifest().parent?.manifestHash,
    })
  })

  it('are made once more where a copy has gone bad', async () => {
    scene.write('data/train.jsonl', range(0, 30).map(oldRow).join(''))
    scene.run('a', samples(30, 40))
    const { plan } = await merge(scene, 'a')
    const [folder] = readdirSync(scene.path('data-backup'))
    scene.write(`data-backup/${folder}/files/train.jsonl`, 'rotten')
    await inActivity(() => mergeActivities(scene).backUpDataset(plan))
    expect(scene.read(`data-backup/${folder}/files/train.jsonl`)).toBe(scene.read('data/train.jsonl'))
  })

  it('find a file that changed since it was adopted, and nothing is merged', async () => {
    scene.write('data/train.jsonl', range(0, 30).map(oldRow).join(''))
    scene.run('a', samples(30, 40))
    scene.run('b', samples(40, 50))
    await merge(scene, 'a')
    await rollBack(openStore(scene.dataset), { openStore, now: Date.now })
    scene.write('data/train.jsonl', range(1, 31).map(oldRow).join(''))
    await expect(merge(scene, 'b', { backup: `${scene.dataset}-other` })).rejects.toThrow(
      `${scene.dataset}/train.jsonl has changed since it became part of the dataset`,
    )
    expect(scene.pointer().version).toBe(1)
  })

  it('beyond those to keep are removed, but never the last good one', async () => {
    await threeVersions({ keep: 1 })
    expect(readdirSync(scene.path('data-backup')).map((folder) => folder.slice(0, 5))).toEqual(['v0002'])
    const good = { isWhole: true }
    const bad = { isWhole: false }
    expect(backupsToRemove([bad, bad, good], 1)).toEqual([])
    expect(backupsToRemove([good, bad, good, good], 2)).toEqual([good])
    expect(backupsToRemove([good, good], 0)).toEqual([good])
  })

  it('bring a version back file by file, and leave what is as it should be', async () => {
    await threeVersions()
    const [file] = scene.manifest(2).files
    const content = readFileSync(scene.path(`data/${file!.key}`))
    scene.write(`data/${file!.key}`, content.subarray(10))
    rmSync(scene.path('data/v0002/README.md'))
    const files: [string, boolean][] = []
    await restored({ version: 2, onFile: (key, wasMissing) => files.push([key, wasMissing]) })
    expect(files).toEqual([
      [file!.key, false],
      ['v0002/README.md', true],
    ])
    expect(readFileSync(scene.path(`data/${file!.key}`))).toEqual(content)
    expect(scene.pointer()).toMatchObject({ version: 2, moves: { 3: { why: 'restored' } } })
  })

  it('bring back a dataset of which nothing is left', async () => {
    await threeVersions()
    const rows = scene.rows(2)
    rmSync(scene.path('data'), { recursive: true })
    await restored({ version: 2 })
    expect(scene.rows()).toEqual(rows)
    expect(scene.pointer().moves).toMatchObject([{ to: 2, why: 'restored' }])
  })

  it('bring a version to another place, as a dataset of its own', async () => {
    await threeVersions()
    const target = openStore(`file://${scene.path('elsewhere')}`)
    const { manifest } = await restored({ version: 1, target })
    expect(scene.read('elsewhere/train.jsonl')).toBe(scene.read('data/train.jsonl'))
    expect(manifest).toMatchObject({ version: 1, rows: 30 })
    expect(scene.pointer().version).toBe(3)
  })

  it('do not overwrite a file of somebody else unless that is asked for', async () => {
    await threeVersions()
    scene.write('data/train.jsonl', 'edited')
    await expect(restored({ version: 1 })).rejects.toThrow('not overwritten unless that is asked for')
    expect(scene.read('data/train.jsonl')).toBe('edited')
    await restored({ version: 1, mayOverwrite: true })
    expect(scene.rows()).toHaveLength(30)
  })

  it('that are damaged restore nothing', async () => {
    await threeVersions()
    rmSync(scene.path('data/v0002'), { recursive: true })
    const folder = readdirSync(scene.path('data-backup')).find((name) => name.startsWith('v0002'))
    const part = `data-backup/${folder}/files/v0002/part-00000.jsonl`
    scene.write(part, scene.read(part).replace('old', 'odd'))
    await expect(restored({ version: 2 })).rejects.toThrow('is damaged')
    expect(scene.pointer().version).toBe(3)
  })
})

describe('looking at versions', () => {
  it('tells the history, a version, and what differs between two', async () => {
    await threeVersions()
    const manifests = new Map(range(1, 4).map((version) => [version, scene.manifest(version)]))
    const history = describeHistory(scene.pointer(), manifests).split('\n')
    expect(history[0]).toBe('current: v0003')
    expect(history[1]).toMatch(/v0003 {2}merged b \(from v0002\), 50 rows$/)
    expect(history[3]).toMatch(/v0001 {2}adopted, 30 rows$/)
    expect(describeVersion('d', scene.manifest(), true)).toContain(
      '40 old + 10 new - 0 duplicates - 0 dropped = 50 merged',
    )
    const diff = diffVersions(scene.manifest(1), scene.manifest(3))
    expect(diff).toMatchObject({ from: 1, to: 3, rows: 20, tokens: 240, runs: { added: ['a', 'b'], removed: [] } })
    expect(diffVersions(scene.manifest(3), scene.manifest(2)).sources).toEqual({ fresh: [20, 10] })
  })
})
