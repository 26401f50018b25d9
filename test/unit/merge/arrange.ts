import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { RunManifest } from '../../../domain/commit.ts'
import type { DatasetManifest, DatasetPointer } from '../../../domain/dataset.ts'
import type { Message } from '../../../domain/prompt.ts'
import type { Sample } from '../../../domain/sample.ts'
import { skeletonText } from '../../../domain/skeleton.ts'
import { id128 } from '../../../shuffle/digest.ts'

/** A folder with a store for runs and one for a dataset. */
export class Scene {
  readonly folder = mkdtempSync(join(tmpdir(), 'merge-'))
  readonly runs = `file://${join(this.folder, 'store')}`
  readonly dataset = `file://${join(this.folder, 'data')}`
  readonly scratch = join(this.folder, 'scratch')

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  path(key: string): string {
    return join(this.folder, key)
  }

  write(key: string, content: string | Uint8Array): void {
    mkdirSync(dirname(this.path(key)), { recursive: true })
    writeFileSync(this.path(key), content)
  }

  read(key: string): string {
    return readFileSync(this.path(key), 'utf8')
  }

  has(key: string): boolean {
    return existsSync(this.path(key))
  }

  /** Writes a finished run of samples, in objects of at most 100. */
  run(name: string, samples: Sample[]): void {
    const objects: RunManifest['sampleObjects'] = []
    for (let start = 0; start < samples.length; start += 100) {
      const rows = samples.slice(start, start + 100)
      const bytes = gzipSync(rows.map((sample) => `${JSON.stringify(sample)}\n`).join(''))
      const key = `runs/${name}/samples/${String(objects.length).padStart(5, '0')}.jsonl.gz`
      this.write(`store/${key}`, bytes)
      objects.push({ key, rows: rows.length, bytes: bytes.length, sha256: sha256(bytes) })
    }
    const manifest: Partial<RunManifest> = {
      ...{ run: name, specHash: 'spec', model: 'model', weightVersion: 'w1', samples: samples.length, failures: 0 },
      sampleObjects: objects,
    }
    this.write(`store/runs/${name}/manifest.json`, `${JSON.stringify(manifest)}\n`)
  }

  pointer(): DatasetPointer {
    return JSON.parse(this.read('data/current.json'))
  }

  manifest(version = this.pointer().version): DatasetManifest {
    return JSON.parse(this.read(`data/v${String(version).padStart(4, '0')}/manifest.json`))
  }

  /** Lines of a version of JSON lines in their order, of one split or all. */
  lines(version?: number, split?: string): string[] {
    const files = this.manifest(version).files.filter((file) => split === undefined || file.split === split)
    return files.flatMap(({ key }) => {
      const bytes = readFileSync(this.path(`data/${key}`))
      const text = (key.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
      return text.split('\n').filter(Boolean)
    })
  }

  rows(version?: number, split?: string): Record<string, unknown>[] {
    return this.lines(version, split).map((line) => JSON.parse(line))
  }
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export const question = (n: number): Message => ({ role: 'user', content: `question ${n}` })

/** A sample that answers question `n`. */
export function sampleOf(n: number, differences: Partial<Sample> = {}): Sample {
  return {
    promptId: id128(skeletonText([question(n)])),
    source: 'fresh',
    messages: [question(n), { role: 'assistant', content: `new answer ${n}` }],
    finishReason: 'stop',
    truncated: false,
    usage: { promptTokens: 5, completionTokens: 7, cachedTokens: 0, reasoningTokens: 0 },
    model: 'model',
    weightVersion: 'w1',
    engine: 'gpu-0',
    sampling: { maxNewTokens: 100 },
    turns: [],
    provenance: { file: 'a.jsonl', row: n },
    ...differences,
  }
}

/** A row of an existing dataset that answers question `n`, as a line. */
export const oldRow = (n: number) =>
  `${JSON.stringify({ messages: [question(n), { role: 'assistant', content: `old answer ${n}` }], source: 'base' })}\n`

export const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n)
