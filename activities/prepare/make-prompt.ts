import type { Thinking } from '../../domain/prompt.ts'
import { withTools } from '../../domain/skeleton.ts'
import type { Source, Spec } from '../../domain/spec.ts'
import { refuseUnfitText } from '../../formats/conversation/content.ts'
import {
  type Conversation,
  conversationColumns,
  conversationReader,
} from '../../formats/conversation/read-conversation.ts'
import type { Row } from '../../formats/conversation/row.ts'
import { fateOf, id128, sha256Hex } from '../../shuffle/digest.ts'
import type { SpillWriter } from '../../shuffle/spill-writer.ts'
import { type ReductionNote, reduceToSkeleton } from './reduce-conversation.ts'
import type { PieceCounts } from './scan-batch.ts'

export interface RowPlace {
  file: number
  fileName: string
  row: number
}

export interface PromptMaker {
  /** Columns that prompts are made of. */
  readonly columns: ReadonlySet<string>
  /** Makes a prompt of a row and spills it, or counts why not. Throws `RowRejected`. */
  makePrompt(row: Row, place: RowPlace, counts: PieceCounts, spills: SpillWriter): void
}

export function promptMaker(source: Source, spec: Spec): PromptMaker {
  const readConversation = conversationReader({
    mapping: source.mapping,
    orderOptions: (question, options) => seededOrder(spec.seed, question, options),
  })
  const sourceJson = JSON.stringify(source.name)
  const thinkingChoice = source.thinking ?? spec.thinking

  function makePrompt(row: Row, place: RowPlace, counts: PieceCounts, spills: SpillWriter): void {
    const conversation = readConversation(row)
    counts.schemas[conversation.schema] = (counts.schemas[conversation.schema] ?? 0) + 1
    const note = (what: ReductionNote) => {
      counts.notes[what] = (counts.notes[what] ?? 0) + 1
    }
    const skeleton = reduceToSkeleton(conversation.messages, source.turns, note)
    for (const { content } of skeleton) refuseUnfitText(content)
    const messagesJson = JSON.stringify(skeleton)
    const { tools, templateKwargs } = conversation
    const id = id128(tools ? withTools(messagesJson, tools) : messagesJson)
    const fate = fateOf(spec.seed, id)
    const thinking = thinkingOf(thinkingChoice, conversation, fate)
    let line = `{"promptId":"${id}","source":${sourceJson},"messages":${messagesJson}`
    if (tools) line += `,"tools":${JSON.stringify(tools)}`
    if (templateKwargs) line += `,"templateKwargs":${JSON.stringify(templateKwargs)}`
    if (thinking) line += `,"thinking":"${thinking}"`
    line += `,"provenance":${provenanceJson(conversation, place)}}\n`
    spills.add({ id, group: place.file, row: place.row, weight: 0 }, line, fate)
  }

  return { columns: conversationColumns(source.mapping), makePrompt }
}

const provenanceKeys = ['id', 'split', 'license', 'category', 'origin'] as const

function provenanceJson(conversation: Conversation, { fileName, row }: RowPlace): string {
  let json = `{"file":${JSON.stringify(fileName)},"row":${row}`
  for (const key of provenanceKeys) {
    const value = conversation[key]
    if (value !== undefined) json += `,"${key}":${JSON.stringify(value)}`
  }
  return `${json}}`
}

function thinkingOf(choice: Spec['thinking'], conversation: Conversation, fate: string): Thinking | undefined {
  if (choice === 'default') return conversation.thinking
  if (typeof choice === 'string') return choice
  // The third quarter of the fate: the first two decide about order and drawing.
  return Number.parseInt(fate.slice(32, 44), 16) / 2 ** 48 < choice.onShare ? 'on' : 'off'
}

function seededOrder(seed: string, question: string, options: readonly string[]): string[] {
  const keyed = options.map((option) => ({ option, key: sha256Hex(`${seed}\n${question}\n${option}`) }))
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ option }) => option)
}
