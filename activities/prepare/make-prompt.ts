import type { Message } from '../../domain/prompt.ts'
import { withTools } from '../../domain/skeleton.ts'
import type { Source, Spec, ThinkingChoice } from '../../domain/spec.ts'
import { refuseUnfitText } from '../../formats/conversation/content.ts'
import {
  type Conversation,
  conversationColumns,
  conversationReader,
} from '../../formats/conversation/read-conversation.ts'
import type { Row } from '../../formats/conversation/row.ts'
import { fateOf, id128, sha256Hex } from '../../shuffle/digest.ts'
import { contaminationOf } from './contamination/contamination-check.ts'
import type { Contamination } from './contamination/read-evaluation.ts'
import { decidedThinking } from './decided-thinking.ts'
import { promptFilter } from './filter-prompt.ts'
import { RawPromptMaker } from './raw/raw-prompt-maker.ts'
import { reduceToSkeleton } from './reduce-conversation.ts'
import type { PieceSink } from './scan-batch.ts'
import type { TokenCounter } from './token-count.ts'
import { TokenFilter } from './token-filter.ts'

export interface PromptMaker {
  /** Columns that prompts are made of. */
  readonly columns: ReadonlySet<string>
  /** Makes prompts of rows that need no parsing, where the source can have such. */
  readonly raw: RawPromptMaker | undefined
  readonly thinking: ThinkingChoice
  /** Makes a prompt of a row, or lets the sink know why not. Throws `RowRejected`. */
  makePrompt(row: Row, rowNumber: number, sink: PieceSink): void
  /** Finishes the prompts that wait for their tokens to be counted. */
  settle(): Promise<void>
}

export interface PromptMakerOptions {
  readonly spec: Spec
  readonly tokens: TokenCounter
  readonly contamination: Contamination | undefined
}

export function promptMaker(source: Source, { spec, tokens, contamination }: PromptMakerOptions): PromptMaker {
  const readConversation = conversationReader({
    mapping: source.mapping,
    orderOptions: (question, options) => seededOrder(spec.seed, question, options),
  })
  const filter = promptFilter(source.filters)
  const tokenFilter = TokenFilter.isWanted(source.filters) ? new TokenFilter(source.filters ?? {}, tokens) : undefined
  const sourceJson = JSON.stringify(source.name)

  function makePrompt(row: Row, rowNumber: number, sink: PieceSink): void {
    const conversation = readConversation(row)
    sink.schema(conversation.schema)
    const messages = reduceToSkeleton(conversation.messages, source.turns, (what) => sink.note(what))
    for (const { content } of messages) refuseUnfitText(content)
    const { tools, templateKwargs } = conversation
    const messagesJson = JSON.stringify(messages)
    const id = id128(tools ? withTools(messagesJson, tools) : messagesJson)
    const fate = fateOf(spec.seed, id)
    const thinking = decidedThinking(sink.thinkingChoice, conversation.thinking, fate)
    const reason = filter({ messages, thinking })
    if (reason) return sink.filtered(reason)
    const { file: group, fileName } = sink
    const match = contamination && contaminationOf(messages, contamination)
    if (match) return sink.contaminated({ promptId: id, file: fileName, row: rowNumber, ...match })
    let line = `{"promptId":"${id}","source":${sourceJson},"messages":${messagesJson}`
    if (tools) line += `,"tools":${JSON.stringify(tools)}`
    if (templateKwargs) line += `,"templateKwargs":${JSON.stringify(templateKwargs)}`
    if (thinking) line += `,"thinking":"${thinking}"`
    line += `,"provenance":${provenanceJson(conversation, sink, rowNumber)}}\n`
    whenTokensFit(messages, sink, () => sink.spills.add({ id, group, row: rowNumber, weight: 0 }, line, fate))
  }

  function whenTokensFit(messages: readonly Message[], sink: PieceSink, keep: () => void): void {
    if (!tokenFilter) return keep()
    tokenFilter.add(messages, (reason) => (reason ? sink.filtered(reason) : keep()))
  }

  return {
    columns: conversationColumns(source.mapping),
    raw: RawPromptMaker.suits(source, spec) ? new RawPromptMaker(source, spec) : undefined,
    thinking: source.thinking ?? spec.thinking,
    makePrompt,
    settle: async () => tokenFilter?.settle(),
  }
}

const provenanceKeys = ['id', 'license', 'category', 'origin'] as const

function provenanceJson(conversation: Conversation, sink: PieceSink, row: number): string {
  let json = `${sink.provenanceStart}${row}`
  const split = conversation.split ?? sink.split
  if (split !== undefined) json += `,"split":${JSON.stringify(split)}`
  for (const key of provenanceKeys) {
    const value = conversation[key]
    if (value !== undefined) json += `,"${key}":${JSON.stringify(value)}`
  }
  return `${json}}`
}

function seededOrder(seed: string, question: string, options: readonly string[]): string[] {
  const keyed = options.map((option) => ({ option, key: sha256Hex(`${seed}\n${question}\n${option}`) }))
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ option }) => option)
}
