import type { TokenizeOptions } from '../../../domain/tokenize-spec.ts'
import type { ChatTemplate } from '../model/chat-template.ts'
import type { TokenModel } from '../model/token-model.ts'
import { toValue, type Value } from '../template/values.ts'
import { breakControls } from './break-controls.ts'
import type { ReadConversation } from './conversation-of.ts'
import { encodeRow } from './encode-row.ts'
import type { TokenSequence } from './fit-length.ts'
import { renderTurns } from './render-turns.ts'
import { RowLeftOut } from './row-left-out.ts'

/** A model with its chat template. */
export interface ReadModel {
  readonly tokens: TokenModel
  /** Left out where the model has none. */
  readonly template?: ChatTemplate
  /** Ids that end a turn. */
  readonly endIds: ReadonlySet<number>
}

/** A row by its text: what it was rendered as, and the ids of that. */
export interface TextSequence extends TokenSequence {
  readonly text: string
}

/** The rows of a conversation that has only text. Throws `RowLeftOut`. */
export async function tokenizeConversation(
  conversation: ReadConversation,
  { tokens, template }: ReadModel,
  { templateKwargs }: Pick<TokenizeOptions, 'templateKwargs'>,
): Promise<TextSequence[]> {
  if (!template) throw new RowLeftOut('refused_by_template', 'the model has no chat template')
  const { messages, tools, ends } = conversation
  const { value, breaker } = breakControls({ messages, ...(tools && { tools }) }, tokens.controls)
  const data = value as Map<string, Value>
  const kwargs = { ...templateKwargs, ...conversation.templateKwargs }
  const rows = renderTurns(
    {
      messages: data.get('messages') as Map<Value, Value>[],
      ...(tools && { tools: data.get('tools') ?? null }),
      kwargs: new Map(Object.entries(kwargs).map(([name, argument]) => [name, toValue(argument)])),
      ends,
    },
    template,
    tokens.controls,
  )
  const sequences: TextSequence[] = []
  for (const row of rows) {
    const text = breaker === '' ? row.text : row.text.replaceAll(breaker, '')
    sequences.push({ ...(await encodeRow(row, tokens, breaker)), text })
  }
  return sequences
}
