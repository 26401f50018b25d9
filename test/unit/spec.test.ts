import { describe, expect, it } from 'vitest'
import { InvalidSpec, parseSpec } from '../../domain/spec.ts'

const minimal = { run: 'r1', sources: ['/data/a.jsonl'], engines: 8 }

/** The problems that a spec is refused for. */
function problemsOf(spec: unknown): readonly string[] {
  try {
    parseSpec(spec)
  } catch (error) {
    if (error instanceof InvalidSpec) return error.problems
    throw error
  }
  return []
}

describe('a spec', () => {
  it('needs only run, sources and engines', () => {
    const spec = parseSpec(minimal)
    expect(spec.engines.map((engine) => engine.queue)).toEqual([
      'gpu-0',
      'gpu-1',
      'gpu-2',
      'gpu-3',
      'gpu-4',
      'gpu-5',
      'gpu-6',
      'gpu-7',
    ])
    expect(spec.sources[0]).toMatchObject({ name: 'a', uri: '/data/a.jsonl', format: 'auto' })
    expect(spec.sampling).toEqual({ maxNewTokens: 8192 })
    expect(spec).toMatchObject({ shardSize: 500, lanes: 2, attempts: 3, mode: 'native', truncation: 'keep' })
  })

  it('numbers sources of the same name', () => {
    const { sources } = parseSpec({
      ...minimal,
      sources: ['/a/train.jsonl', '/b/train.jsonl.gz', 's3://b/x/train.parquet'],
    })
    expect(sources.map((source) => source.name)).toEqual(['train', 'train-2', 'train-3'])
  })

  it('takes a seed as a number or a string and keeps it as a string', () => {
    expect(parseSpec({ ...minimal, seed: 7 }).seed).toBe('7')
    expect(parseSpec({ ...minimal, seed: '18446744073709551615' }).seed).toBe('18446744073709551615')
  })
})

describe('a bad spec is refused with the field, its value and what is allowed', () => {
  it.each([
    [undefined, 'there is none'],
    [null, 'there is none'],
    ['x', 'the spec is "x"; it must be an object'],
    [{ ...minimal, run: 'a/b' }, 'run is "a/b"; it must be 1 to 80 letters'],
    [{ sources: ['/a'], engines: 1 }, 'run is missing; it must be a string'],
    [{ ...minimal, engines: 0 }, 'engines is 0; it must be at least 1'],
    [{ ...minimal, engines: [] }, 'engines is []; it must have at least 1 entry'],
    [{ ...minimal, engines: ['gpu-0', 'gpu-0'] }, 'names an engine twice'],
    [{ ...minimal, sources: [] }, 'sources is []; it must have at least 1 entry'],
    [{ ...minimal, sources: ['data.jsonl'] }, 'sources[0] is "data.jsonl"; it must be an absolute path'],
    [{ ...minimal, sources: [{ uri: '/a', limit: -5 }] }, 'sources[0].limit is -5; it must be at least 1'],
    [{ ...minimal, sources: [{ uri: '/a', lmit: 5 }] }, 'sources[0].lmit is not a field'],
    [{ ...minimal, sampling: { temperature: -1 } }, 'sampling.temperature is -1; it must be at least 0'],
    [{ ...minimal, sampling: { topP: 0 } }, 'sampling.topP is 0; it must be more than 0'],
    [{ ...minimal, mode: 'fast' }, 'mode is "fast"; allowed are "native", "chat"'],
    [{ ...minimal, shardSize: 1.5 }, 'shardSize is 1.5; it must be a whole number'],
    [{ ...minimal, store: 'ftp://x' }, 'store is "ftp://x"; it must begin with file:/// or s3://'],
    [{ ...minimal, colour: 'red' }, 'colour is not a field of a spec'],
  ])('%j', (spec, problem) => {
    expect(problemsOf(spec).join('\n')).toContain(problem)
  })

  it('names every problem at once', () => {
    expect(problemsOf({ run: '', sources: 3, engines: 'many' })).toHaveLength(3)
  })
})
