import { Tokenizer } from 'tokenizers'
import { ByteDecoder } from './byte-decoder.ts'
import { FastEncoder } from './fast-encoder.ts'
import { type Stretch, TokenFinder } from './token-finder.ts'
import type { TokenizerJson } from './tokenizer-json.ts'

/** The tokenizer can't be trusted with what it would be used for. */
export class TokenizerNotUsable extends Error {
  override readonly name = 'TokenizerNotUsable'
}

/** A model's tokenizer: text to ids and back, control tokens apart from text. */
export class TokenModel {
  /** Ids are smaller than this. */
  readonly idLimit: number
  /** Tokens that steer the model, such as an end of turn. */
  readonly controls: TokenFinder
  readonly #controlIds: ReadonlyMap<string, number>
  readonly #json: TokenizerJson
  readonly #library: Tokenizer
  /** Made when there is text that has to go to it. */
  #plain: Tokenizer | undefined
  /** Tokens that text may have in it, such as the begin of thinking. */
  readonly #marks: TokenFinder
  readonly #markTexts: readonly string[]
  readonly #fast: FastEncoder | undefined
  readonly #decoder: ByteDecoder | undefined

  private constructor(json: TokenizerJson, text: string) {
    const { added_tokens: added = [] } = json
    const controls = added.filter(({ special }) => special)
    const marks = added.filter(({ special }) => !special)
    this.#json = json
    this.#library = Tokenizer.fromString(text)
    this.controls = new TokenFinder(controls)
    this.#controlIds = new Map(controls.map(({ content, id }) => [content, id]))
    this.#marks = new TokenFinder(marks)
    this.#markTexts = marks.map(({ content }) => content)
    this.#fast = FastEncoder.of(json)
    this.#decoder = ByteDecoder.of(json)
    this.idLimit = idLimitOf(json)
  }

  /** Reads a `tokenizer.json` and tries out on probes that ids are those of the library. Throws `TokenizerNotUsable`. */
  static async read(text: string): Promise<TokenModel> {
    let model: TokenModel
    try {
      model = new TokenModel(JSON.parse(text), text)
    } catch (error) {
      throw new TokenizerNotUsable(`tokenizer.json can't be read: ${(error as Error).message}`, { cause: error })
    }
    await model.#try()
    return model
  }

  controlId(token: string): number | undefined {
    return this.#controlIds.get(token)
  }

  /** Whether this process encodes faster than the library does. */
  get isFast(): boolean {
    return this.#fast !== undefined
  }

  /** The ids of texts in which control tokens count as the text that they are written with. */
  async encode(texts: readonly string[]): Promise<Int32Array[]> {
    const ids = texts.map((text) => this.#encodeFast(text))
    for (const [n, text] of texts.entries()) ids[n] ??= await this.#encodeSlowly(text)
    return ids as Int32Array[]
  }

  /** The same by the library alone, control tokens taken as such: what a server does with a rendered conversation. */
  async encodeByLibrary(text: string): Promise<Int32Array> {
    return (await encodeAll(this.#library, [text]))[0] ?? new Int32Array()
  }

  async decode(ids: ArrayLike<number>, withControls: boolean): Promise<string> {
    if (this.#decoder) return this.#decoder.decode(ids, withControls)
    return await this.#library.decode(Array.from(ids), !withControls)
  }

  #encodeFast(text: string): Int32Array | undefined {
    if (!this.#fast) return undefined
    if (!this.#marks.isIn(text)) return this.#fast.encode(text)
    const parts: Int32Array[] = []
    for (const { start, end, id } of this.#marks.cut(text)) {
      const part = id === undefined ? this.#fast.encode(text.slice(start, end)) : Int32Array.of(id)
      if (!part) return undefined
      parts.push(part)
    }
    return concatenated(parts)
  }

  async #encodeSlowly(text: string): Promise<Int32Array> {
    const stretches = this.#marks.cut(text)
    const texts = stretches.filter(({ id }) => id === undefined).map(({ start, end }) => text.slice(start, end))
    return joined(stretches, texts.length > 0 ? await encodeAll(this.#plainTokenizer(), texts) : [])
  }

  /** A tokenizer that does not know the added tokens takes them for the text that they are written with. */
  #plainTokenizer(): Tokenizer {
    const json = { ...this.#json, added_tokens: [], post_processor: null }
    this.#plain ??= Tokenizer.fromString(JSON.stringify(json))
    return this.#plain
  }

  async #try(): Promise<void> {
    const controls = [...this.#controlIds.keys()].slice(0, mostProbed)
    const added = [...controls, ...this.#markTexts.slice(0, mostProbed)]
    const amongText = added.map((token) => `${probes[0]} ${token}\n${probes[1]}${token}${token} x`)
    for (const probe of [...probes, ...amongText]) {
      const own = await this.#encodeByParts(probe)
      const expected = await this.encodeByLibrary(probe)
      if (!isSame(own, expected)) {
        throw new TokenizerNotUsable(
          `The tokenizer does not treat text and control tokens apart: ${JSON.stringify(probe)} gives other ids in parts than as a whole.`,
        )
      }
    }
    for (const token of controls) {
      const [asText] = await this.encode([token])
      if (asText?.includes(this.#controlIds.get(token) ?? -1)) {
        throw new TokenizerNotUsable(`The tokenizer makes a control token of the text ${token} even where it is none.`)
      }
    }
  }

  async #encodeByParts(text: string): Promise<Int32Array> {
    const stretches = this.controls.cut(text)
    const texts = stretches.filter(({ id }) => id === undefined).map(({ start, end }) => text.slice(start, end))
    const encoded = await this.encode(texts)
    return joined(stretches, encoded)
  }
}

/** Added tokens of each kind that are tried out: some tokenizers have thousands. */
const mostProbed = 40

/** Texts that tokenizers are known to differ on. */
const probes = [
  'Hello, world!\n\nIt\'s 12345 o\'clock  in   the\tcode: if (x_1 != "y") { return }\r\n',
  ' leading, trailing   \n \n\n\u00a0 e\u0301 中文，日本語 한국어 😀👩‍👩‍👧 Ünïcödé naïve',
  'user\nWhat?\n',
  '\n',
  ' x',
]

/** Ids of a tokenizer are smaller than this. */
export function idLimitOf({ model: { vocab }, added_tokens: added = [] }: TokenizerJson): number {
  const ids = Array.isArray(vocab) ? [vocab.length - 1] : Object.values(vocab as Record<string, number>)
  return [ids, added.map(({ id }) => id)].flat().reduce((most, id) => Math.max(most, id), -1) + 1
}

async function encodeAll(tokenizer: Tokenizer, texts: string[]): Promise<Int32Array[]> {
  const encodings = await tokenizer.encodeBatch(texts, { addSpecialTokens: false })
  return encodings.map((encoding) => Int32Array.from(encoding.getIds()))
}

/** The ids of stretches, those of text from the list of what was encoded. */
function joined(stretches: readonly Stretch[], encoded: readonly Int32Array[]): Int32Array {
  let next = 0
  return concatenated(
    stretches.map(({ id }) => (id === undefined ? (encoded[next++] ?? new Int32Array()) : Int32Array.of(id))),
  )
}

export function concatenated(parts: readonly Int32Array[]): Int32Array {
  const [only] = parts
  if (only && parts.length === 1) return only
  const whole = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

function isSame(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((id, n) => id === b[n])
}
