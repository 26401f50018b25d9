import { type ChatMessage, NotText, type RenderOptions, type SimTokenizer } from './tokenizer.ts'
import { stops, words } from './vocabulary.ts'

/** Tokens that stand for a text of their own. Those of the first list are left out where special tokens are skipped. */
const specials = ['<|endoftext|>', '<|im_start|>', '<|im_end|>']
const markers = ['<think>', '</think>', '<tool_call>', '</tool_call>', '<tools>', '</tools>']
const firstWord = 1_000

/** Any other text is packed into ids: four ASCII characters of seven bits each, */
const fourAscii = 1 << 28
/** or up to three bytes, with their number in the top bits. */
const tagOf = [0, 4, 3, 2].map((tag) => tag * fourAscii)

const named = new Map<number, string>([
  ...[...specials, ...markers].map((text, id) => [id, text] as const),
  ...[...words, ...stops].map((text, at) => [firstWord + at, text] as const),
])
const idOfName = new Map([...named].map(([id, text]) => [text, id]))
const marks = new RegExp(`(${[...specials, ...markers].map((mark) => mark.replaceAll('|', '\\|')).join('|')})`)

/**
 * A tokenizer without a model: lossless, about four bytes a token, ids within int32. Chats are rendered in ChatML, in the
 * manner of Qwen3: an empty thinking block stands before the answer where thinking is switched off.
 */
export class StubTokenizer implements SimTokenizer {
  readonly eosId = 2
  readonly vocabSize = 5 * 2 ** 28

  constructor(
    /** The template itself opens the thinking, so that the answer has only its end. */
    readonly opensThinking = false,
  ) {}

  encode(text: string): number[] {
    if (/\p{Surrogate}/u.test(text)) throw new NotText()
    const ids: number[] = []
    for (const piece of text.split(marks)) {
      const id = idOfName.get(piece)
      if (id !== undefined) ids.push(id)
      else packInto(ids, Buffer.from(piece, 'utf8'))
    }
    return ids
  }

  decode(ids: readonly number[]): string {
    const parts: Buffer[] = []
    for (const id of ids) parts.push(bytesOfId(id))
    return Buffer.concat(parts).toString('utf8')
  }

  isSpecial(id: number): boolean {
    return id >= 0 && id < specials.length
  }

  renderChat(messages: readonly ChatMessage[], options: RenderOptions): string {
    const lastUser = messages.findLastIndex((message) => message.role === 'user')
    const turns = messages.map((message, at) => {
      const isOpen = options.continueFinalMessage === true && at === messages.length - 1
      const isSwitched = options.enableThinking === true && !this.opensThinking && at === lastUser
      return `<|im_start|>${message.role}\n${bodyOf(message)}${isSwitched ? thinkSwitch : ''}${isOpen ? '' : '<|im_end|>\n'}`
    })
    const tools = options.tools && options.tools.length > 0 ? toolsTurn(options.tools) : ''
    return tools + turns.join('') + (options.addGenerationPrompt ? this.#answerBegins(options.enableThinking) : '')
  }

  #answerBegins(enableThinking: boolean | undefined): string {
    const begin = '<|im_start|>assistant\n'
    if (enableThinking === false) return `${begin}<think>\n\n</think>\n\n`
    return enableThinking === true && this.opensThinking ? `${begin}<think>\n` : begin
  }
}

/** Qwen3's switch within a user's turn: it also works where the user writes it. */
const thinkSwitch = ' /think'

function toolsTurn(tools: readonly unknown[]): string {
  const lines = tools.map((tool) => JSON.stringify(tool)).join('\n')
  return `<|im_start|>system\n<tools>\n${lines}\n</tools><|im_end|>\n`
}

function bodyOf({ content, tool_calls }: ChatMessage): string {
  if (!Array.isArray(tool_calls)) return content
  return content + tool_calls.map((call) => `\n<tool_call>\n${JSON.stringify(call)}\n</tool_call>`).join('')
}

function packInto(ids: number[], bytes: Buffer): void {
  const byte = (at: number) => bytes[at] ?? 0
  for (let at = 0; at < bytes.length; ) {
    const left = bytes.length - at
    if (left >= 4 && (byte(at) | byte(at + 1) | byte(at + 2) | byte(at + 3)) < 0x80) {
      ids.push(fourAscii + (byte(at) << 21) + (byte(at + 1) << 14) + (byte(at + 2) << 7) + byte(at + 3))
      at += 4
      continue
    }
    const count = Math.min(3, left)
    let packed = 0
    for (let i = 0; i < count; i++) packed = packed * 256 + byte(at + i)
    ids.push((tagOf[count] ?? 0) + packed)
    at += count
  }
}

function bytesOfId(id: number): Buffer {
  const text = named.get(id)
  if (text !== undefined) return Buffer.from(text, 'utf8')
  if (id >= fourAscii && id < 2 * fourAscii) {
    return Buffer.from([(id >> 21) & 0x7f, (id >> 14) & 0x7f, (id >> 7) & 0x7f, id & 0x7f])
  }
  const count = tagOf.findLastIndex((tag, bytes) => bytes > 0 && id >= tag && id < tag + 256 ** bytes)
  if (count < 1) return Buffer.from('\ufffd', 'utf8')
  return Buffer.from([id >> 16, id >> 8, id].slice(3 - count).map((byte) => byte & 0xff))
}
