import { describe, expect, it } from 'vitest'
import { jsonFault } from '../../../sglang/simulator/http/json-fault.ts'
import { lengthFrom } from '../../../sglang/simulator/scheduling/lengths.ts'
import { PrefixCache } from '../../../sglang/simulator/scheduling/prefix-cache.ts'
import { randomFrom } from '../../../sglang/simulator/scheduling/random.ts'
import { AnswerWriter, promptName } from '../../../sglang/simulator/text/answer.ts'
import { StubTokenizer } from '../../../sglang/simulator/text/stub-tokenizer.ts'

const tokenizer = new StubTokenizer()

describe('tokenizer stub', () => {
  it('gives every well-formed text back as it was', () => {
    const texts = [
      '',
      'a',
      'Hello, world!',
      '\0\n\t',
      'ünïcödé 🎉🎉 日本語 and ASCII',
      '<|im_start|>user\n<think>x</think><|im_end|>',
      ' the',
      ' the of',
      '\ufffd\ufeff',
    ]
    for (const text of texts) expect(tokenizer.decode(tokenizer.encode(text))).toBe(text)
  })

  it('gives random texts back as they were', () => {
    const random = randomFrom(5)
    const pieces = ['<|im_end|>', '<think>', ' the', ' /think', '.', '\n']
    for (let round = 0; round < 3_000; round++) {
      let text = ''
      for (let left = random() % 40; left > 0; left--) {
        const drawn = random()
        if (drawn % 10 === 0) text += pieces[(drawn >>> 8) % pieces.length]
        else if (drawn % 3 === 0) text += String.fromCharCode((drawn >>> 8) % 128)
        else text += String.fromCodePoint(charOf((drawn >>> 4) % 0x10ffff))
      }
      const ids = tokenizer.encode(text)
      expect(tokenizer.decode(ids)).toBe(text)
      expect(ids.every((id) => Number.isInteger(id) && id >= 0 && id < tokenizer.vocabSize)).toBe(true)
    }
    expect(tokenizer.vocabSize).toBeLessThan(2 ** 31)
  })

  it('takes about four bytes a token for English', () => {
    const text = 'It was the best of times, it was the worst of times, it was the age of wisdom.'
    expect(text.length / tokenizer.encode(text).length).toBeGreaterThan(3.5)
  })

  it('refuses half a surrogate pair', () => {
    expect(() => tokenizer.encode('hi \ud800 there')).toThrow('TextEncodeInput')
  })

  it('renders a conversation so that a longer one begins with the ids of the shorter', () => {
    const short = [{ role: 'user', content: 'Hello there' }]
    const long = [...short, { role: 'assistant', content: 'Hi' }, { role: 'user', content: 'And now?' }]
    const ids = (messages: typeof short) =>
      tokenizer.encode(tokenizer.renderChat(messages, { addGenerationPrompt: false }))
    expect(ids(long).slice(0, ids(short).length)).toEqual(ids(short))
  })
})

const charOf = (point: number) => (point >= 0xd800 && point <= 0xdfff ? 0x41 : point)

describe('answers', () => {
  const writer = new AnswerWriter(tokenizer)
  const request = { name: promptName([1, 2, 3]), seed: 9, thinking: 'none' as const, naturalTokens: 500 }

  it('begin with the name of their prompt, and differ between prompts', () => {
    const { pieces } = writer.write(request, 1_000)
    expect(pieces.join('')).toMatch(new RegExp(`^To prompt ${request.name}:`))
    expect(promptName([1, 2, 4])).not.toBe(request.name)
  })

  it('have exactly the length asked for, and ids that decode to their text', () => {
    for (const thinking of ['none', 'written', 'opened'] as const) {
      for (const limit of [0, 1, 5, 100, 499, 500, 600]) {
        const { ids, pieces } = writer.write({ ...request, thinking }, limit)
        expect(ids.length).toBe(Math.min(limit, 500))
        expect(tokenizer.decode(ids)).toBe(pieces.join(''))
      }
    }
  })

  it('are cut, never changed, by a limit', () => {
    const whole = writer.write({ ...request, thinking: 'written' }, 1_000)
    const cut = writer.write({ ...request, thinking: 'written' }, 120)
    expect(cut.ids).toEqual(whole.ids.slice(0, 120))
    expect(cut.pieces.join('')).not.toContain('</think>')
    expect(whole.pieces.join('')).toMatch(/^<think>\n.+\n<\/think>\n\nTo prompt/s)
    expect(writer.shortest({ ...request, thinking: 'written' })).toBeLessThan(60)
  })
})

describe('lengths', () => {
  const lengths = { meanTokens: 2_712, sigma: 0.8, maxTokens: Number.POSITIVE_INFINITY }

  it('have the mean and the spread asked for', () => {
    const drawn = Array.from({ length: 40_000 }, (_, seed) => lengthFrom(lengths, seed))
    const logs = drawn.map(Math.log)
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
    const logMean = mean(logs)
    expect(mean(drawn) / 2_712).toBeCloseTo(1, 1)
    expect(Math.sqrt(mean(logs.map((log) => (log - logMean) ** 2)))).toBeCloseTo(0.8, 1)
  })

  it('are all alike without a spread, and capped', () => {
    expect(lengthFrom({ ...lengths, sigma: 0 }, 3)).toBe(2_712)
    expect(lengthFrom({ ...lengths, maxTokens: 10 }, 3)).toBe(10)
  })
})

describe('prefix cache', () => {
  const ids = (count: number, from = 0) => Array.from({ length: count }, (_, at) => from + at)

  it('finds whole pages of an earlier prompt, but never the whole prompt', () => {
    const cache = new PrefixCache(64, 100)
    expect(cache.claim(ids(200))).toBe(0)
    expect(cache.claim(ids(200))).toBe(192)
    expect(cache.claim([...ids(100), ...ids(50, 900)])).toBe(64)
    expect(cache.claim(ids(128))).toBe(64)
  })

  it('forgets the oldest pages, and everything when flushed', () => {
    const cache = new PrefixCache(4, 2)
    cache.claim(ids(8))
    cache.claim(ids(8, 100))
    expect(cache.claim(ids(8))).toBe(0)
    cache.clear()
    expect(cache.claim(ids(8, 100))).toBe(0)
  })

  it('is off with pages of no tokens', () => {
    const cache = new PrefixCache(0, 10)
    cache.claim(ids(64))
    expect(cache.claim(ids(64))).toBe(0)
  })
})

describe('faults in JSON', () => {
  it('are placed and named as Python does', () => {
    const cases: [string, string, number][] = [
      ['{"text": ', 'Expecting value', 9],
      ['{"a":[{"b":"c"}', "Expecting ',' delimiter", 15],
      ['{"a" 1}', "Expecting ':' delimiter", 5],
      ['{a:1}', 'Expecting property name enclosed in double quotes', 1],
      ['["a\0"]', 'Invalid control character at', 3],
      ['["a', 'Unterminated string starting at', 1],
      ['{} {}', 'Extra data', 3],
      ['["\\x"]', 'Invalid \\escape', 2],
    ]
    for (const [text, message, at] of cases) expect(jsonFault(text)).toEqual({ message, at })
  })
})
