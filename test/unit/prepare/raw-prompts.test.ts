import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import wabt from 'wabt'
import { type PromptMaker, promptMaker } from '../../../activities/prepare/make-prompt.ts'
import { scanBatch } from '../../../activities/prepare/scan-batch.ts'
import { estimator } from '../../../activities/prepare/token-count.ts'
import { parseSpec } from '../../../domain/spec.ts'
import { ByteStops, byteStopsModule } from '../../../formats/raw/byte-stops.ts'
import { JsonTape } from '../../../formats/raw/json-tape.ts'
import { SpillWriter } from '../../../shuffle/spill-writer.ts'
import { temporaryFolder } from './prepared.ts'

/** What becomes of lines when plain rows are taken as bytes, or when all rows are parsed. */
async function scanned(lines: readonly (string | Buffer)[], way: 'raw' | 'parsed', options: object = {}) {
  const spec = parseSpec({ run: 'r', engines: 1, sources: [{ name: 'source', uri: '/x.jsonl', ...options }] })
  const [source] = spec.sources
  const made = promptMaker(source!, { spec, tokens: estimator, contamination: undefined })
  let taken = 0
  const raw = made.raw
  const maker: PromptMaker = {
    ...made,
    raw:
      way === 'parsed' || !raw
        ? undefined
        : Object.assign(Object.create(raw) as typeof raw, {
            take(...row: Parameters<typeof raw.take>) {
              const isTaken = raw.take(...row)
              if (isTaken) taken++
              return isTaken
            },
          }),
  }
  const bytes = Buffer.concat(lines.map((line) => Buffer.from(line as string)))
  const spans: number[] = []
  let at = 0
  for (const line of lines) {
    spans.push(at, at + Buffer.from(line as string).length)
    at += Buffer.from(line as string).length
  }
  const scratch = temporaryFolder()
  const spills = new SpillWriter(scratch, 'b', 'seed', 1024 * 1024)
  const piece = {
    kind: 'json',
    bytes,
    spans: Uint32Array.from(spans),
    firstRow: 1,
    firstByte: 0,
    isCut: false,
  } as const
  const { pieces } = await scanBatch(0, [{ file: 0, fileName: 'da"ta.jsonl', source: 0, piece }], {
    folder: scratch,
    maxRowBytes: 1024 * 1024,
    spills,
    makers: [maker],
  })
  const files = readdirSync(scratch)
    .sort()
    .map((name) => [name, readFileSync(join(scratch, name), 'utf8')])
  return { taken, result: { pieces, files } }
}

async function expectSame(lines: readonly (string | Buffer)[], options: object = {}): Promise<number> {
  const raw = await scanned(lines, 'raw', options)
  const parsed = await scanned(lines, 'parsed', options)
  expect(raw.result).toEqual(parsed.result)
  return raw.taken
}

/** JSON of a value as other writers write it: with spaces, escapes for all that is not ASCII, escaped slashes. */
function written(value: unknown, style: 'plain' | 'spaced' | 'ascii'): string {
  if (style === 'spaced') return JSON.stringify(value, undefined, 1).replace(/\n\s*/g, ' ')
  const json = JSON.stringify(value)
  if (style === 'plain') return json
  return json
    .replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(/\//g, '\\/')
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom(
    '',
    ' ',
    '\n\t',
    '\u3000',
    '\u00a0 ',
    ' x',
    'Ünï',
    '中文',
    '😀',
    'a\\b',
    '"q"',
    '<image>',
    'a < b',
    '<',
    'a/b',
  ),
  fc.constantFrom('\u2028', '\ufeff', 'a\u0000b', '\ud800', '\u0001', '\\u0041', '\b\f'),
)
const role = fc.constantFrom(
  'user',
  'assistant',
  'system',
  'human',
  'gpt',
  'User',
  'tool',
  'developer',
  'narrator',
  ' user',
  '',
)
const turn = fc.oneof(
  fc.record({ role, content: fc.oneof(text, fc.constantFrom(null, 5, [], [{ type: 'text', text: 'part' }])) }),
  fc.record({ from: role, value: text, weight: fc.constantFrom(null, 0.5) }),
  fc.record({ role: fc.constant('user'), content: text, name: text }, { requiredKeys: ['role'] }),
  fc.constantFrom(null, 'text', [], {}),
)
const turns = fc.oneof(
  { weight: 5, arbitrary: fc.array(turn, { maxLength: 5 }) },
  { weight: 1, arbitrary: fc.constantFrom(null, '[{"role":"user","content":"x"}]', 'x') },
)
/** Rows that are mostly plain, with one thing or other that may not be. */
const plainTurn = fc.record({
  role: fc.constantFrom('user', 'assistant', 'system', 'human', 'GPT'),
  content: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('Hi', 'a "b"\n', 'é', '中', ' x ', 'a < b', '') },
    { weight: 1, arbitrary: text },
  ),
})
const plainRow = fc.record(
  {
    id: fc.oneof(text, fc.constantFrom(0, 7, null)),
    messages: fc.array(plainTurn, { minLength: 1, maxLength: 4 }),
    reasoning: fc.constantFrom('on', 'off', ''),
    system: fc.constantFrom('', ' ', 'Be brief.', null),
    source: text,
    other: fc.constantFrom(null, { a: [1, 2.5] }, []),
  },
  { requiredKeys: ['messages'] },
)
const anyRow = fc.record(
  {
    messages: turns,
    conversations: turns,
    prompt: fc.oneof(text, turns),
    instruction: text,
    input: fc.oneof(text, turns),
    question: text,
    distractor1: text,
    system: fc.oneof(text, fc.constantFrom(null, 3)),
    id: fc.oneof(text, fc.constantFrom(0, 7, 1.5, -0, 1e21, 2 ** 63, null, true)),
    uuid: text,
    reasoning: fc.constantFrom('on', 'off', '', null, true, false, 'because'),
    split: fc.oneof(text, fc.constantFrom(null, 1)),
    license: text,
    category: text,
    source: text,
    tools: fc.constantFrom(null, '', [], [{ name: 't' }], '[{'),
    image: fc.constantFrom(null, '', [], 'a.png'),
    chat_template_kwargs: fc.constantFrom(null, {}, { enable_thinking: true }),
    other: fc.json({ maxDepth: 3 }).map((json) => JSON.parse(json) as unknown),
  },
  { requiredKeys: [] },
)

describe('prompts made of bytes are those made of parsed rows', () => {
  it('for rows of all shapes, in all ways of writing them', async () => {
    let taken = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.tuple(fc.oneof(anyRow, plainRow), fc.constantFrom('plain' as const, 'spaced' as const, 'ascii' as const)),
          {
            minLength: 1,
            maxLength: 6,
          },
        ),
        fc.constantFrom({}, { thinking: { onShare: 0.5 } }, { thinking: 'off' }, { turns: { toolResults: 'drop' } }),
        async (rows, options) => {
          taken += await expectSame(
            rows.map(([value, style]) => `${written(value, style)}`),
            options,
          )
        },
      ),
      { numRuns: 150, seed: 3 },
    )
    expect(taken).toBeGreaterThan(100)
  })

  it('for plain rows with any change to their bytes', async () => {
    const plain = [
      '{"id":"a","messages":[{"role":"system","content":"Be \\"brief\\"."},{"role":"user","content":"naïve 中 \\u00e9\\n"},{"role":"assistant","content":"x"}],"n":[1,-2.5e3,true,null]}',
      '{"conversations":[{"from":"human","value":"a"},{"from":"human","value":"b < c"}],"id":12,"source":"s"}',
      '{"prompt":"Why?","license":"mit","x":{"y":{"z":[{}]}}}',
    ].map((line) => Buffer.from(line))
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...plain.keys()),
        fc.array(fc.tuple(fc.nat(300), fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('"\\{}[]:,0eE.-+ntu')))), {
          minLength: 1,
          maxLength: 2,
        }),
        async (which, changes) => {
          const line = Buffer.from(plain[which]!)
          for (const [at, byte] of changes) line[at % line.length] = byte
          await expectSame([line])
        },
      ),
      { numRuns: 500, seed: 4 },
    )
  })

  it('for every row of the datasets that are read line by line', async () => {
    const datasets = fileURLToPath(new URL('../../fixtures/datasets', import.meta.url))
    for (const name of readdirSync(datasets).filter((file) => file.endsWith('.jsonl'))) {
      await expectSame(readFileSync(join(datasets, name), 'utf8').split('\n').filter(Boolean))
    }
  })

  it('and most rows of chat datasets are plain', async () => {
    const chat = JSON.stringify({
      id: 'x',
      conversations: [
        { from: 'human', value: 'Hi' },
        { from: 'gpt', value: 'Hello' },
      ],
    })
    const filled = JSON.stringify({ uuid: 'u', instruction: 'Do it', response: 'Done', difficulty: 'easy', score: 0.5 })
    expect(await expectSame([chat, filled])).toBe(2)
  })
})

describe('a tape', () => {
  /** Whether bytes are taken as a row of JSON. */
  function isTaken(line: string): boolean {
    const stops = new ByteStops()
    const bytes = Buffer.from(`${line}  ,"trap":1}`)
    stops.load(bytes)
    return new JsonTape().take(stops, 0, Buffer.byteLength(line))
  }

  it.each([
    '{}',
    ' { } ',
    '{"a":[]}',
    '{"a":[1,{"b":"c"},-0.5e-7]}',
    '{"a":"\\\\"}',
    '{"a":"\\"}"}',
    '{"é":"\\u00E9"}',
  ])('takes %s', (line) => {
    expect(isTaken(line)).toBe(true)
    JSON.parse(line)
  })

  it.each([
    '',
    '[]',
    '"a"',
    '{',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{,"a":1}',
    '{"a":1 "b":2}',
    '{"a":01}',
    '{"a":1.}',
    '{"a":.5}',
    '{"a":+1}',
    '{"a":1e}',
    '{"a":tru}',
    '{"a":nulll}',
    '{"a":"\\x"}',
    '{"a":"\\u12g4"}',
    '{"a":"\t"}',
    '{"a":"open}',
    '{"a":[1}',
    '{"a":{"b":1]}',
    '{"a":1}}',
    '{"a":1} x',
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    `{"a":${'['.repeat(100)}${']'.repeat(100)}}`,
  ])('leaves %s to the parser', (line) => {
    expect(isTaken(line)).toBe(false)
  })

  it('finds what it stops at by the module that byte-stops.wat describes', async () => {
    const path = fileURLToPath(new URL('../../../formats/raw/byte-stops.wat', import.meta.url))
    const { parseWat } = await wabt()
    const { buffer } = parseWat('byte-stops.wat', readFileSync(path, 'utf8'), { simd: true }).toBinary({})
    expect(Buffer.from(buffer).toString('base64')).toBe(byteStopsModule)
  })
})
