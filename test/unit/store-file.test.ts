import { lutimes, mkdir, mkdtemp, readdir, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { KeyIsFolder, ObjectCorrupt, ObjectNotFound, StoreUnavailable } from '../../store/errors.ts'
import { lockFile, lockLeaseMs } from '../../store/file-lock.ts'
import { FileStore } from '../../store/file-store.ts'
import { livenessOf, ownProcessMark } from '../../store/process-mark.ts'

/** Of a process of this machine that cannot exist: its pid is beyond the highest. */
const deadMark = () => ownProcessMark().replace(/\.\d+\./, '.4194305.')

let folder: string
let root: string
let store: FileStore
let stores = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-file-store-'))
})

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

beforeEach(() => {
  root = join(folder, `store-${stores++}`)
  store = new FileStore(root)
})

describe('a file store', () => {
  it('lays an object down as a plain file and makes no folder before', async () => {
    expect(await readdir(folder)).not.toContain(root)
    await store.put('runs/my-run/progress.json', '{}')
    expect(await readdir(join(root, 'runs/my-run'))).toEqual(['progress.json'])
  })

  it('leaves no empty folder behind a removed object', async () => {
    await store.put('a/b/c/object', '')
    await store.put('a/other', '')
    await store.delete('a/b/c/object')
    expect(await readdir(join(root, 'a'))).toEqual(['other'])
  })

  it('refuses a key that is the folder of others, and one below an object', async () => {
    await store.put('a/object', '')
    for (const onlyIf of [undefined, 'absent'] as const) {
      const above = await store.put('a', '', { onlyIf }).catch((thrown) => thrown)
      expect(above).toBeInstanceOf(KeyIsFolder)
      expect(above.message).toContain('is a folder with objects in it')
      const below = await store.put('a/object/deep/below', '', { onlyIf }).catch((thrown) => thrown)
      expect(below).toBeInstanceOf(KeyIsFolder)
      expect(below).toMatchObject({ folder: 'a/object' })
    }
    expect(await readdir(join(root, 'a'))).toEqual(['object'])
  })

  it('says so when its place cannot be used', async () => {
    await writeFile(join(folder, 'a-file'), '')
    const misplaced = new FileStore(join(folder, 'a-file', 'store'))
    const error = await misplaced.put('object', '').catch((thrown) => thrown)
    expect(error).toBeInstanceOf(StoreUnavailable)
    expect(error.message).toContain('ENOTDIR')
    expect(await misplaced.head('object')).toBeUndefined()
  })

  it('never gives two versions of an object the same etag, not even on the same inode', async () => {
    const etags = new Set<string>()
    for (let round = 0; round < 300; round++) {
      const { etag } = await store.put('object', `${round + 100}`)
      etags.add(etag)
      if (round % 3 === 0) await store.delete('object')
    }
    expect(etags.size).toBe(300)
  })

  it('notices by the etag that somebody changed a file in place', async () => {
    const { etag } = await store.put('object', 'content')
    await writeFile(join(root, 'object'), 'CONTENT')
    expect((await store.head('object'))?.etag).not.toBe(etag)
  })

  it('takes a file that is cut while it is read for damaged', async () => {
    await store.put('object', Buffer.alloc(2_000_000))
    const { body } = await store.get('object')
    const reading = (async () => {
      for await (const _ of body) await truncate(join(root, 'object'), 300_000)
    })()
    await expect(reading).rejects.toThrow(ObjectCorrupt)
  })

  it('lists files that others laid there, and follows links to files but not to folders', async () => {
    await mkdir(join(root, 'adopted'), { recursive: true })
    await writeFile(join(root, 'adopted', 'rows.jsonl'), '{}\n')
    await symlink(join(root, 'adopted', 'rows.jsonl'), join(root, 'linked.jsonl'))
    await symlink(join(root, 'adopted'), join(root, 'current'))
    await symlink(join(root, 'nowhere'), join(root, 'dangling'))
    const keys: string[] = []
    for await (const { key } of store.list('')) keys.push(key)
    expect(keys).toEqual(['adopted/rows.jsonl', 'linked.jsonl'])
    expect((await store.head('current/rows.jsonl'))?.bytes).toBe(3)
    await expect(store.get('dangling')).rejects.toThrow(ObjectNotFound)
  })

  it('copies a file that is protected against writing', async () => {
    await store.put('original', 'content')
    await rm(join(root, 'original'))
    await writeFile(join(root, 'original'), 'content', { mode: 0o444 })
    await store.copy('original', 'copy')
    await store.put('copy', 'replaced')
    expect((await store.head('copy'))?.bytes).toBe(8)
  })

  it('excludes writers of a store with another root in the same place', async () => {
    const inner = new FileStore(join(root, 'inner'))
    await store.put('inner/counter', '0')
    const count = async (own: FileStore, key: string) => {
      for (let counted = 0; counted < 25; ) {
        const { body, etag } = await own.get(key)
        let text = ''
        for await (const chunk of body) text += Buffer.from(chunk).toString()
        const swapped = await own.put(key, `${Number(text) + 1}`, { onlyIf: { etag } }).catch(() => undefined)
        if (swapped) counted++
      }
    }
    await Promise.all([count(store, 'inner/counter'), count(inner, 'counter')])
    expect((await inner.head('counter'))?.bytes).toBe(2)
    const { body } = await store.get('inner/counter')
    for await (const chunk of body) expect(Buffer.from(chunk).toString()).toBe('50')
  })

  it('writes its URI as a URI', () => {
    expect(new FileStore('/data/größe & mehr/').uri).toBe(pathToFileURL('/data/größe & mehr').href)
  })
})

describe('leftovers of a file store', () => {
  const anHour = { olderThanMs: 3_600_000 }
  beforeEach(async () => {
    await store.put('a/object', 'content')
  })

  it('of a dead process count at once, those of a living one never', async () => {
    await writeFile(join(root, 'a', `.~longhaul-tmp-${deadMark()}.x`), 'half')
    await writeFile(join(root, 'a', `.~longhaul-tmp-${ownProcessMark()}.x`), 'half')
    await symlink(`${deadMark()}.x`, join(root, 'a', '.~longhaul-lock-0123'))
    const collected = await store.collectLeftovers('', anHour)
    expect(collected.map(({ kind }) => kind).sort()).toEqual(['lock', 'temporary-file'])
    expect((await store.collectLeftovers('', { olderThanMs: -60_000 })).length).toBe(0)
  })

  it('of a process on another machine count by age', async () => {
    const path = join(root, 'a', '.~longhaul-tmp-otherhost.1.1.x')
    await writeFile(path, 'half')
    expect(await store.collectLeftovers('', anHour)).toEqual([])
    await utimes(path, new Date(), new Date(Date.now() - 2 * 3_600_000))
    expect((await store.collectLeftovers('', anHour)).length).toBe(1)
  })

  it('leave no empty folder when they are collected', async () => {
    await mkdir(join(root, 'only', 'leftovers'), { recursive: true })
    await writeFile(join(root, 'only', 'leftovers', `.~longhaul-tmp-${deadMark()}.x`), 'half')
    await store.collectLeftovers('', anHour)
    expect(await readdir(root)).toEqual(['a'])
  })
})

describe('a lock', () => {
  it('of another machine is respected for its lease and then broken', async () => {
    const path = join(folder, 'lock-of-another')
    await symlink('otherhost.1.1.x', path)
    await expect(lockFile(path, { signal: AbortSignal.timeout(100) })).rejects.toThrow('timeout')
    const old = (Date.now() - lockLeaseMs - 1_000) / 1000
    await lutimes(path, old, old)
    await (await lockFile(path)).release()
  })

  it('of a dead holder goes to one of many who break it, every time', async () => {
    const path = join(folder, 'broken-lock')
    for (let round = 0; round < 60; round++) {
      await symlink(`${deadMark()}.${round}`, path)
      let inside = 0
      const waiting = Array.from({ length: 12 }, async () => {
        const lock = await lockFile(path)
        inside++
        expect(inside).toBe(1)
        // As long as a compare and rename, so that a lock broken by mistake lets a second one in.
        await stat(folder)
        await stat(folder)
        inside--
        await lock.release()
      })
      await Promise.all(waiting)
    }
  })

  it('is not removed by a holder that lost it', async () => {
    const path = join(folder, 'lost-lock')
    const lost = await lockFile(path)
    await rm(path)
    const own = await lockFile(path)
    await lost.release()
    await expect(lockFile(path, { signal: AbortSignal.timeout(100) })).rejects.toThrow('timeout')
    await own.release()
  })
})

describe('a process mark', () => {
  it('tells the living from the dead and from those that cannot be seen', () => {
    const [machine, pid, start] = ownProcessMark().split('.')
    expect(livenessOf(ownProcessMark())).toBe('alive')
    expect(livenessOf(`${ownProcessMark()}.more`)).toBe('alive')
    expect(livenessOf(`${machine}.4194305.${start}`)).toBe('dead')
    // The pid was given to a later process.
    expect(livenessOf(`${machine}.${pid}.12345`)).toBe('dead')
    expect(livenessOf(`another.${pid}.${start}`)).toBe('unknown')
    expect(livenessOf('')).toBe('unknown')
    expect(livenessOf(`${machine}.-1.0`)).toBe('unknown')
  })
})
