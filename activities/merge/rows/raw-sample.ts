import type { Message, Role } from '../../../domain/prompt.ts'
import type { Sample } from '../../../domain/sample.ts'
import { decodeRaw, memberOf, parseRaw, type RawNode } from './raw-json.ts'

/** A piece of JSON: as text, or where it lies in the bytes that it was read from. */
export type JsonPiece = string | RawNode

/** A turn whose texts are left as they are. */
export interface RawMessage {
  readonly role: Role
  readonly content: RawNode
  readonly reasoning?: RawNode
  /** All else that the turn has: calls of tools and their results. */
  readonly rest: Omit<Message, 'role' | 'content' | 'reasoning_content'>
}

/** A sample of which only what is small was decoded. */
export interface RawSample extends Omit<Sample, 'messages' | 'turns' | 'tools'> {
  readonly bytes: Buffer
  readonly messages: readonly RawMessage[]
  readonly tools?: RawNode
  /** Of the whole conversation, as the engine counted them. */
  readonly tokens: number
}

/** Looks through a line of samples. Throws `RawSyntax`, and `SyntaxError` for what is no sample. */
export function readRawSample(line: Buffer): RawSample {
  const row = parseRaw(line, 0, line.length)
  const messages = memberOf(row, 'messages')
  const turns = memberOf(row, 'turns')
  if (!messages?.items || row.kind !== 'object') throw new SyntaxError('it is no sample')
  const tools = memberOf(row, 'tools')
  const small: Record<string, unknown> = {}
  row.names?.forEach((name, n) => {
    const node = row.items?.[n]
    if (node && node !== messages && node !== turns && node !== tools) small[name] = decodeRaw(line, node)
  })
  const sample = small as unknown as Omit<Sample, 'messages' | 'turns' | 'tools'>
  return {
    ...sample,
    bytes: line,
    messages: messages.items.map((message) => readMessage(line, message)),
    ...(tools && tools.kind !== 'null' && { tools }),
    tokens: tokensOf(line, turns, sample),
  }
}

/** The turns that the sample answers, decoded. */
export function skeletonOf({ bytes, messages }: RawSample): Message[] {
  const asked = messages.filter(({ role }) => role !== 'assistant')
  return asked.map(({ role, content }) => ({ role, content: decodeRaw(bytes, content) as string }))
}

function readMessage(bytes: Buffer, node: RawNode): RawMessage {
  const content = memberOf(node, 'content')
  const role = memberOf(node, 'role')
  if (!content || !role) throw new SyntaxError('a turn has no role or no content')
  const reasoning = memberOf(node, 'reasoning_content')
  const rest: Record<string, unknown> = {}
  node.names?.forEach((name, n) => {
    const item = node.items?.[n]
    if (item && item !== content && item !== role && item !== reasoning) rest[name] = decodeRaw(bytes, item)
  })
  return { role: decodeRaw(bytes, role) as Role, content, ...(reasoning && { reasoning }), rest }
}

/** The last turn's prompt is the conversation up to it; the sum over turns would count their common beginning again. */
function tokensOf(bytes: Buffer, turns: RawNode | undefined, { usage }: Pick<Sample, 'usage'>): number {
  const node = turns?.items?.at(-1) && memberOf(turns.items.at(-1) as RawNode, 'usage')
  const last = node ? (decodeRaw(bytes, node) as Sample['usage']) : usage
  return last.promptTokens + last.completionTokens
}
