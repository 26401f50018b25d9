import type { ChatTemplate, TemplateInput } from '../model/chat-template.ts'
import type { TokenFinder } from '../model/token-finder.ts'
import { TemplateFailed, type Value } from '../template/values.ts'
import { RowLeftOut } from './row-left-out.ts'

/** A conversation that has only text. */
export interface TextConversation extends TemplateInput {
  /** Turns as the chat template takes them. */
  readonly messages: readonly Map<Value, Value>[]
  /** How each answer ended; of one that may have been cut at the token limit, nobody knows whether its end is the model's. */
  readonly ends: readonly AnswerEnd[]
}

export type AnswerEnd = 'whole' | 'cut' | 'unknown'

/** A row as text, and what of it the model is to learn: stretches of characters as in `TokenRow.spans`. */
export interface RenderedRow {
  readonly text: string
  readonly spans: readonly number[]
}

interface Answer {
  /** The conversation up to and with the answer. */
  readonly text: string
  readonly start: number
  readonly end: number
}

/**
 * Renders a conversation, once up to each answer and once with it: what the second has more is the answer. Answers whose
 * prompt begins with all that came before them share a row, as in `rowsFromIds`. Control tokens in the turns must have been
 * broken already. Throws `RowLeftOut`.
 */
export function renderTurns(
  conversation: TextConversation,
  template: ChatTemplate,
  controls: TokenFinder,
): RenderedRow[] {
  const { messages, ends } = conversation
  const asked = [...messages.keys()].filter((n) => messages[n]?.get('role') === 'assistant')
  if (asked.length === 0) throw new RowLeftOut('no_answer', messages.map((turn) => turn.get('role')).join(', '))
  const rows: { text: string; spans: number[] }[] = []
  for (const [answered, n] of asked.entries()) {
    const prompt = render(conversation, n, template, true)
    const answer = findAnswer(prompt, render(conversation, n + 1, template, false), messages[n], {
      controls,
      isCut: ends[answered] === 'cut',
    })
    const before = rows.at(-1)
    const goesOn = before !== undefined && prompt.startsWith(before.text)
    const row = goesOn ? before : { text: '', spans: [] }
    if (!goesOn) rows.push(row)
    row.text = answer.text
    if (ends[answered] !== 'unknown') row.spans.push(answer.start, answer.end)
  }
  return (
    rows
      .filter(({ spans }) => spans.length > 0)
      // What the template writes behind the last answer is nobody's.
      .map(({ text, spans }) => ({ text: text.slice(0, spans.at(-1)), spans }))
  )
}

function render(
  { messages, ...input }: TextConversation,
  end: number,
  template: ChatTemplate,
  isAsking: boolean,
): string {
  try {
    return template.render(messages.slice(0, end), input, isAsking)
  } catch (error) {
    if (!(error instanceof TemplateFailed)) throw error
    throw new RowLeftOut('refused_by_template', error.message)
  }
}

function findAnswer(
  prompt: string,
  text: string,
  turn: Map<Value, Value> | undefined,
  { controls, isCut }: { controls: TokenFinder; isCut: boolean },
): Answer {
  if (!text.startsWith(prompt)) {
    throw new RowLeftOut('unstable_boundary', `the text changes ${firstDifference(prompt, text)} characters in`)
  }
  const answer = text.slice(prompt.length)
  const end = controls.cut(answer).findLast(({ id }) => id !== undefined)
  if (!end || answer.slice(end.end).trim() !== '') {
    throw new RowLeftOut('no_end_of_turn', `the answer ends with ${JSON.stringify(answer.slice(-20))}`)
  }
  return {
    text,
    start: prompt.length + writtenByTemplate(answer, turn),
    end: prompt.length + (isCut ? end.start : end.end),
  }
}

/**
 * How much of an answer the template has put in front of the model's words: such as the empty thinking that Qwen3's
 * writes for a turn without any.
 */
function writtenByTemplate(answer: string, turn: Map<Value, Value> | undefined): number {
  const content = turn?.get('content')
  const thought = turn?.get('reasoning_content')
  if (typeof content !== 'string' || content.trim() === '' || (typeof thought === 'string' && thought !== '')) return 0
  const exact = answer.indexOf(content)
  const at = exact >= 0 ? exact : answer.indexOf(content.trim())
  return at > 0 && answer.slice(0, at).trim() !== '' ? at : 0
}

function firstDifference(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return at
}
