import { RowLeftOut } from '../rows/row-left-out.ts'
import type { TurnWithIds } from '../rows/rows-from-ids.ts'
import type { ReadModel, TextSequence } from '../rows/tokenize-conversation.ts'

/** The ids that an engine wrote must be those of the text that it gave. Throws `RowLeftOut`. */
export async function checkDecodedTurns(
  texts: readonly string[],
  turns: readonly TurnWithIds[],
  { tokens, endIds }: ReadModel,
): Promise<void> {
  for (const [n, { outputIds }] of turns.entries()) {
    const isEnded = endIds.has(outputIds.at(-1) ?? -1)
    const decoded = await tokens.decode(isEnded ? outputIds.subarray(0, -1) : outputIds, false)
    hold(comparable(decoded), comparable(texts[n] ?? ''), `turn ${n}`)
  }
}

/** The ids of a rendered row must be those of its text. Throws `RowLeftOut`. */
export async function checkDecodedText({ ids, text }: TextSequence, { tokens }: ReadModel): Promise<void> {
  hold(comparable(await tokens.decode(ids, true)), comparable(text), 'the row')
}

/** Without the half of a character that a cut can leave, and in the form that tokenizers normalise text to. */
function comparable(text: string): string {
  return text.replace(/\ufffd+$/, '').normalize('NFC')
}

function hold(decoded: string, text: string, where: string): void {
  if (decoded === text) return
  let at = 0
  while (at < text.length && text[at] === decoded[at]) at++
  const [there, here] = [decoded, text].map((one) => JSON.stringify(one.slice(at, at + 20)))
  throw new RowLeftOut('text_differs', `${where} is ${there} instead of ${here} at character ${at}`)
}
