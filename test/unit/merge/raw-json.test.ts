import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { oldRowReader } from '../../../activities/merge/rows/old-row.ts'
import { decodeRaw, memberOf, parseRaw, type RawNode, RawSyntax } from '../../../activities/merge/rows/raw-json.ts'
import { thinRowReader } from '../../../activities/merge/rows/thin-row.ts'
import { columnsOf, newSketch, observe, observeSeen } from '../../../domain/type-sketch.ts'

const parse = (text: string): [Buffer, RawNode] => {
  const bytes = Buffer.from(text)
  return [bytes, parseRaw(bytes, 0, bytes.length)]
}

/** Rows as datasets have them: some columns that hold conversations, and any others. */
const turn = fc.record(
  {
    role: fc.constantFrom('user', 'assistant', 'system', 'tool', 'User', ''),
    from: fc.constantFrom('human', 'gpt', null),
    content: fc.oneof(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.constant(null)),
    value: fc.string(),
    weight: fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })),
  },
  { requiredKeys: [] },
)
const row = fc.record(
  {
    messages: fc.oneof(fc.array(turn, { maxLength: 5 }), fc.json()),
    conversations: fc.array(turn, { maxLength: 4 }),
    instruction: fc.string({ unit: 'binary' }),
    output: fc.string(),
    system: fc.string(),
    source: fc.oneof(fc.string(), fc.integer()),
    tools: fc.oneof(fc.json(), fc.array(fc.record({ name: fc.string() }))),
    input_ids: fc.array(fc.integer()),
    other: fc.jsonValue({ maxDepth: 4 }),
  },
  { requiredKeys: [] },
)

describe('looking through JSON without decoding it', () => {
  it('finds every value where it is', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 2), (value, indent) => {
        const [bytes, node] = parse(JSON.stringify(value, undefined, indent))
        const check = (inner: RawNode, expected: unknown) => {
          expect(JSON.stringify(decodeRaw(bytes, inner))).toBe(JSON.stringify(expected))
          if (inner.kind === 'object') {
            for (const [name, member] of Object.entries(expected as object)) check(memberOf(inner, name)!, member)
          }
        }
        check(node, value)
      }),
    )
  })

  it('sees the same types as in decoded rows', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 5 }), (rows) => {
        const [decoded, seen] = [newSketch(), newSketch()]
        for (const one of rows) {
          observe(decoded, JSON.parse(JSON.stringify(one)))
          observeSeen(seen, parse(JSON.stringify(one))[1])
        }
        expect(columnsOf(seen)).toEqual(columnsOf(decoded))
      }),
    )
  })

  it('gives the same conversation id as the whole row, whatever the assistant says', () => {
    const factsOf = oldRowReader(undefined)
    const thinRow = thinRowReader()
    fc.assert(
      fc.property(row, (one) => {
        const text = JSON.stringify(one)
        const [bytes, node] = parse(text)
        expect(factsOf(thinRow(bytes, node))).toEqual(factsOf(JSON.parse(text)))
      }),
      { numRuns: 500 },
    )
  })

  it.each(['{"a":1', '{"a" 1}', '{"a":"x}', '[1,2', '["a" 2]', '{"a":tru}', '{"a":1}x', '', '{"a":}', '{a:1}'])(
    'refuses %j',
    (text) => {
      expect(() => parse(text)).toThrow(RawSyntax)
    },
  )

  it('is not deceived by quotes and brackets inside of texts', () => {
    const value = { a: '"]},{', b: ['\\', '\\"', '"\\'], c: { d: '}]' } }
    const [bytes, node] = parse(JSON.stringify(value))
    expect(decodeRaw(bytes, node)).toEqual(value)
    expect(memberOf(node, 'b')?.items).toHaveLength(3)
  })

  it('refuses rows that are nested too deeply instead of running out of stack', () => {
    expect(() => parse('['.repeat(10_000))).toThrow(RawSyntax)
  })
})
