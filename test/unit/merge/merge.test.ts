import { readFileSync, readlinkSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { defaultMergeSizes } from '../../../activities/merge/sizes.ts'
import { parseMergeRequest } from '../../../domain/dataset-merge.ts'
import { oldRow, range, Scene, sampleOf } from './arrange.ts'
import { inActivity, merge, mergeActivities } from './perform.ts'

let scene: Scene
beforeEach(() => {
  scene = new Scene()
})
afterEach(() => scene.remove())

const answers = (rows: Record<string, unknown>[]) =>
  rows.map((row) => (row.messages as { content: string }[])[1]!.content)

describe('merging a run into a dataset', () => {
  it('makes version 1 of nothing but the run when there is no dataset yet', async () => {
    scene.run(
      'r',
      range(0, 10).map((n) => sampleOf(n)),
    )
    await merge(scene, 'r')
    expect(scene.pointer()).toMatchObject({ version: 1, moves: [{ to: 1, why: 'merged' }] })
    expect(scene.rows()).toHaveLength(10)
    expect(scene.manifest().counts).toMatchObject({ old: 0, new: 10, merged: 10 })
    expect(readlinkSync(scene.path('data/current'))).toBe('v0001')
  })

  it('adopts a plain folder as version 1, backs it up and merges into version 2', async () => {
    scene.write('data/train.jsonl', range(0, 30).map(oldRow).join(''))
    const before = scene.read('data/train.jsonl')
    scene.run(
      'r',
      range(20, 40).map((n) => sampleOf(n)),
    )
    await merge(scene, 'r')
    expect(scene.read('data/train.jsonl')).toBe(before)
    expect(scene.pointer().moves.map(({ to, why }) => [to, why])).toEqual([
      [1, 'adopted'],
      [2, 'merged'],
    ])
    const { counts, runs } = scene.manifest()
    expect(counts).toEqual({
      ...{ old: 30, new: 20, duplicates: 10, dropped: 0, merged: 40, reasons: {}, gaveWay: { old: 0, new: 10 } },
      sources: {
        base: { old: 30, new: 0, duplicates: 0, dropped: 0, merged: 30 },
        fresh: { old: 0, new: 20, duplicates: 10, dropped: 0, merged: 10 },
      },
    })
    expect(runs).toMatchObject([{ run: 'r', version: 2, samples: 20 }])
    expect(answers(scene.rows()).filter((text) => text.startsWith('old'))).toHaveLength(30)
    const backup = `data-backup/v0001-${scene.manifest().parent?.manifestHash.slice(0, 12)}`
    expect(scene.read(`${backup}/files/train.jsonl`)).toBe(before)
    expect(scene.read(`${backup}/manifest.json`)).toBe(scene.read('data/v0001/manifest.json'))
  })

  it.each([
    ['keepOld', 30, 10],
    ['keepNew', 20, 20],
    ['keepBoth', 30, 20],
  ])('with %s keeps %i old rows and %i new ones', async (duplicates, old, fresh) => {
    scene.write('data/train.jsonl', range(0, 30).map(oldRow).join(''))
    scene.run(
      'r',
      range(20, 40).map((n) => sampleOf(n)),
    )
    await merge(scene, 'r', { duplicates })
    const texts = answers(scene.rows())
    expect(texts.filter((text) => text.startsWith('old'))).toHaveLength(old)
    expect(texts.filter((text) => text.startsWith('new'))).toHaveLength(fresh)
  })

  it('says that a run was merged before, and changes nothing', async () => {
    scene.run(
      'r',
      range(0, 10).map((n) => sampleOf(n)),
    )
    await merge(scene, 'r')
    const before = scene.read('data/current.json')
    expect((await merge(scene, 'r')).plan.mergedInto).toBe(1)
    expect(scene.read('data/current.json')).toBe(before)
  })

  it('makes no version when the run brings nothing but what is left out', async () => {
    scene.write('data/train.jsonl', range(0, 30).map(oldRow).join(''))
    scene.run('r', [sampleOf(50, { truncated: true })])
    expect((await merge(scene, 'r', { truncated: 'out' })).made).toBeUndefined()
    expect(scene.pointer().version).toBe(1)
  })

  it('gives the same bytes whatever memory it had, in files of equal size', async () => {
    const small = { ...defaultMergeSizes, blockBytes: 1000, spillBytes: 3000, sliceBytes: 2000, rangeRows: 50 }
    const bytes: string[][] = []
    for (const sizes of [defaultMergeSizes, small]) {
      scene.remove()
      scene = new Scene()
      scene.write('data/train.jsonl', range(0, 300).map(oldRow).join(''))
      scene.run(
        'r',
        range(200, 400).map((n) => sampleOf(n)),
      )
      await merge(scene, 'r', { fileBytes: 20_000 }, { sizes })
      bytes.push(scene.manifest().files.map(({ key }) => readFileSync(scene.path(`data/${key}`), 'latin1')))
    }
    expect(bytes[1]).toEqual(bytes[0])
    const sizes = bytes[0]!.map((file) => file.length)
    expect(sizes.length).toBeGreaterThan(2)
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThan(1000)
  })

  it('stops at an old file that has changed, names it, and leaves the current version', async () => {
    scene.write('data/train.jsonl', range(0, 30).map(oldRow).join(''))
    scene.run(
      'a',
      range(30, 40).map((n) => sampleOf(n)),
    )
    scene.run(
      'b',
      range(50, 60).map((n) => sampleOf(n)),
    )
    await merge(scene, 'a')
    const [file] = scene.manifest().files
    scene.write(`data/${file!.key}`, readFileSync(scene.path(`data/${file!.key}`)).subarray(0, -20))
    await expect(merge(scene, 'b')).rejects.toThrow(`${scene.dataset}/${file!.key} has changed`)
    expect(scene.pointer().version).toBe(2)
  })

  it('loses to a merge that was faster, and wins when it starts over', async () => {
    scene.run(
      'a',
      range(0, 10).map((n) => sampleOf(n)),
    )
    scene.run(
      'b',
      range(5, 15).map((n) => sampleOf(n)),
    )
    const activities = mergeActivities(scene)
    const request = parseMergeRequest({ dataset: { uri: scene.dataset }, run: 'a' })
    const plan = await inActivity(() => activities.planMerge(request))
    const made = await inActivity(() => activities.mergeVersion(plan))
    expect((await merge(scene, 'b')).isPublished).toBe(true)
    expect(await inActivity(() => activities.publishVersion({ plan, made: made! }))).toBe(false)
    expect((await merge(scene, 'a')).isPublished).toBe(true)
    expect(scene.manifest()).toMatchObject({ version: 3, parent: { version: 2 }, rows: 15 })
  })
})
