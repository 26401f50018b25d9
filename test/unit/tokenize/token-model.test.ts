import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TokenModel } from '../../../activities/tokenize/model/token-model.ts'
import { modelFolder, type RealModel } from '../../harness/models.ts'
import { runPython } from '../../harness/python.ts'
import { trickyTexts } from '../../harness/tricky-texts.ts'

const casesFile = fileURLToPath(new URL('../../fixtures/chat-templates/cases.jsonl', import.meta.url))

interface Reference {
  texts: number[][]
  conversations: { text: string; ids: number[] }[]
  decoded: string[]
}

describe.each(['qwen3', 'llama3_1'] as RealModel[])('the tokenizer of %s', (name) => {
  const texts = trickyTexts(12_000, 7)
  const folder = mkdtempSync(join(tmpdir(), 'token-model-'))
  let model: TokenModel
  let reference: Reference

  beforeAll(async () => {
    const textsFile = join(folder, 'texts.jsonl')
    writeFileSync(textsFile, texts.map((text) => `${JSON.stringify(text)}\n`).join(''))
    reference = await runPython<Reference>('encode.py', modelFolder(name), textsFile, casesFile)
    model = await TokenModel.read(readFileSync(join(modelFolder(name), 'tokenizer.json'), 'utf8'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  /** Encodes as a server would: what looks like a control token is one. */
  async function encodeWhole(text: string): Promise<number[]> {
    const stretches = model.controls.cut(text)
    const encoded = await model.encode(stretches.map(({ start, end }) => text.slice(start, end)))
    return stretches.flatMap(({ id }, n) => (id === undefined ? [...(encoded[n] ?? [])] : [id]))
  }

  it('gives the ids that Python gives for 12,000 tricky texts', async () => {
    const wrong: string[] = []
    for (const [n, text] of texts.entries()) {
      if (String(await encodeWhole(text)) !== String(reference.texts[n])) wrong.push(text)
    }
    expect(wrong).toEqual([])
  })

  it('gives the ids that Python gives for every reference conversation', async () => {
    expect(reference.conversations).toHaveLength(120)
    for (const { text, ids } of reference.conversations) expect(await encodeWhole(text)).toEqual(ids)
  })

  it('encodes by itself, and the library agrees', async () => {
    expect(model.isFast).toBe(true)
    for (const text of trickyTexts(300, 8)) {
      expect(await encodeWhole(text)).toEqual([...(await model.encodeByLibrary(text))])
    }
  })

  it('decodes what Python decodes', async () => {
    for (const [n, text] of reference.decoded.entries()) {
      expect(await model.decode(reference.texts[n] ?? [], false)).toBe(text)
    }
  })

  it('takes control tokens inside of content for the text that they are written with', async () => {
    for (const token of name === 'qwen3' ? ['<|im_start|>', '<|im_end|>'] : ['<|eot_id|>', '<|begin_of_text|>']) {
      const [ids] = await model.encode([`before${token} after`])
      expect([...(ids ?? [])]).not.toContain(model.controlId(token))
      expect(await model.decode(ids ?? [], true)).toBe(`before${token} after`)
    }
  })
})
