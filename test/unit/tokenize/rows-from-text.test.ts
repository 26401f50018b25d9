import { describe, expect, it } from 'vitest'
import { ChatTemplate } from '../../../activities/tokenize/model/chat-template.ts'
import type { ReadConversation } from '../../../activities/tokenize/rows/conversation-of.ts'
import { tokenizeConversation } from '../../../activities/tokenize/rows/tokenize-conversation.ts'
import type { Message } from '../../../domain/prompt.ts'
import { type RealModel, realModel } from '../../harness/models.ts'

const user = (content: string): Message => ({ role: 'user', content })
const assistant = (content: string, more: Partial<Message> = {}): Message => ({ role: 'assistant', content, ...more })

function conversation(messages: Message[], more: Partial<ReadConversation> = {}): ReadConversation {
  const answers = messages.filter(({ role }) => role === 'assistant').length
  const ends = Array.from({ length: answers }, () => 'whole' as const)
  return { promptId: 'p', source: 's', messages, templateKwargs: {}, ends, ...more }
}

/** Rows with what their supervised stretches decode to. */
async function rows(name: RealModel, read: ReadConversation) {
  const model = await realModel(name)
  const sequences = await tokenizeConversation(read, model, { templateKwargs: {} })
  return await Promise.all(
    sequences.map(async ({ ids, spans, text }) => {
      const learnt: string[] = []
      for (let n = 0; n < spans.length; n += 2) {
        learnt.push(await model.tokens.decode(ids.subarray(spans[n], spans[n + 1]), true))
      }
      return { ids, text, decoded: await model.tokens.decode(ids, true), learnt }
    }),
  )
}

describe('rows of conversations that have only text', () => {
  it('supervise the answer and its end of turn, nothing else', async () => {
    const [row] = await rows('llama3_1', conversation([user('Hi'), assistant('Hello there.')]))
    expect(row!.learnt).toEqual(['Hello there.<|eot_id|>'])
    expect(row!.decoded).toBe(row!.text)
    expect(row!.text).toMatch(/assistant<\|end_header_id\|>\n\nHello there\.<\|eot_id\|>$/)
  })

  it('hold all turns where the template only appends', async () => {
    const made = await rows('llama3_1', conversation([user('a'), assistant('first'), user('b'), assistant('second')]))
    expect(made.map(({ learnt }) => learnt)).toEqual([['first<|eot_id|>', 'second<|eot_id|>']])
  })

  it('are one for each answer where the template rewrites the history', async () => {
    const made = await rows(
      'qwen3',
      conversation([
        user('a'),
        assistant('first', { reasoning_content: 'hm' }),
        user('b'),
        assistant('second', { reasoning_content: 'aha' }),
      ]),
    )
    expect(made.map(({ learnt }) => learnt)).toEqual([
      ['<think>\nhm\n</think>\n\nfirst<|im_end|>'],
      ['<think>\naha\n</think>\n\nsecond<|im_end|>'],
    ])
    expect(made[1]!.text).toContain('assistant\nfirst<|im_end|>')
  })

  it('do not supervise the empty thinking that the template writes by itself', async () => {
    const [byDefault] = await rows('qwen3', conversation([user('a'), assistant('plain')]))
    expect(byDefault!.learnt).toEqual(['plain<|im_end|>'])
    expect(byDefault!.text).toContain('<think>\n\n</think>\n\nplain')
    const off = conversation([user('a'), assistant('plain')], { templateKwargs: { enable_thinking: false } })
    expect((await rows('qwen3', off))[0]!.learnt).toEqual(['plain<|im_end|>'])
  })

  it('end without an end of turn where the answer was cut', async () => {
    const cut = conversation([user('a'), assistant('first'), user('b'), assistant('and then')], {
      ends: ['whole', 'cut'],
    })
    const [row] = await rows('llama3_1', cut)
    expect(row!.learnt).toEqual(['first<|eot_id|>', 'and then'])
    expect(row!.text.endsWith('and then')).toBe(true)
  })

  it('do not supervise an answer of which nobody knows whether it was cut', async () => {
    const read = conversation([user('a'), assistant('first'), user('b'), assistant('second')], {
      ends: ['unknown', 'whole'],
    })
    const [row] = await rows('llama3_1', read)
    expect(row!.learnt).toEqual(['second<|eot_id|>'])
    expect(row!.text).toContain('first<|eot_id|>')
  })

  it.each([
    ['qwen3', '<|im_end|>', 151645, 1],
    ['llama3_1', '<|eot_id|>', 128009, 2],
  ] as const)('of %s take control tokens that people wrote for text', async (name, token, id, ends) => {
    const [row] = await rows(name, conversation([user(`what is ${token}?`), assistant(`${token} ends a turn`)]))
    expect(row!.learnt).toEqual([`${token} ends a turn${token}`])
    expect(row!.decoded).toBe(row!.text)
    // One for the user's turn, one for the answer's, as the template has it.
    expect([...row!.ids].filter((each) => each === id)).toHaveLength(name === 'qwen3' ? 2 : ends)
  })

  it('are left out when the answer changes the tokens of the prompt, or the prompt itself', async () => {
    const model = await realModel('qwen3')
    const withTemplate = (template: string) => ({
      ...model,
      template: new ChatTemplate({ tokenizer: '', template, specialTokens: {}, endIds: [] }),
    })
    const turns = '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}'
    const plain = withTemplate(`${turns}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}`)
    const opens = withTemplate(`${turns}{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}`)
    const options = { templateKwargs: {} }
    const fine = conversation([user('a'), assistant('answer')])
    const merging = conversation([user('a'), assistant('\nanswer')])
    await expect(tokenizeConversation(fine, plain, options)).resolves.toHaveLength(1)
    await expect(tokenizeConversation(merging, plain, options)).rejects.toThrow(/what follows "assistant\\n" changes/)
    await expect(tokenizeConversation(fine, opens, options)).rejects.toThrow(/the text changes 50 characters in/)
  })

  it('are left out without an answer, and when the template refuses', async () => {
    await expect(rows('qwen3', conversation([user('a')]))).rejects.toThrow(/no turn of the assistant/)
    const model = {
      ...(await realModel('qwen3')),
      template: new ChatTemplate({
        tokenizer: '',
        template: "{{ raise_exception('never') }}",
        specialTokens: {},
        endIds: [],
      }),
    }
    const refused = tokenizeConversation(conversation([user('a'), assistant('b')]), model, { templateKwargs: {} })
    await expect(refused).rejects.toThrow(/refuses the conversation: never/)
  })
})
