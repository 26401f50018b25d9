import type { TokenModel } from '../model/token-model.ts'
import { concatenated } from '../model/token-model.ts'
import type { TokenSequence } from './fit-length.ts'
import type { RenderedRow } from './render-turns.ts'
import { RowLeftOut } from './row-left-out.ts'

/**
 * Encodes a rendered row. A boundary of a supervised stretch inside of text is taken only if the text before it has the
 * same ids with and without what follows. `breaker` is the character that control tokens in content were broken by.
 * Throws `RowLeftOut`.
 */
export async function encodeRow(row: RenderedRow, model: TokenModel, breaker: string): Promise<TokenSequence> {
  const stretches = model.controls.cut(row.text)
  const texts: string[] = []
  const requests = stretches.map(({ start, end, id }) => {
    if (id !== undefined) return { id, start, end, inner: [] }
    const whole = texts.push(cleaned(row.text.slice(start, end), breaker)) - 1
    const inner = [...new Set(row.spans)]
      .filter((at) => at > start && at < end)
      .map((at) => ({ at, text: texts.push(cleaned(row.text.slice(start, at), breaker)) - 1 }))
    return { whole, start, end, inner }
  })
  const encoded = await model.encode(texts)
  const idsOf = (text: number | undefined) => encoded[text ?? -1] ?? new Int32Array()
  const placeOf = new Map<number, number>()
  const parts: Int32Array[] = []
  let tokens = 0
  for (const { start, id, whole, inner } of requests as Request[]) {
    placeOf.set(start, tokens)
    const ids = id === undefined ? idsOf(whole) : Int32Array.of(id)
    for (const { at, text } of inner) placeOf.set(at, tokens + tokensBefore(ids, idsOf(text), texts[text] ?? ''))
    parts.push(ids)
    tokens += ids.length
  }
  placeOf.set(row.text.length, tokens)
  return { ids: concatenated(parts), spans: row.spans.map((at) => placeAt(placeOf, at)) }
}

/** Every boundary is the begin or end of a stretch, or inside of text and then looked for. */
function placeAt(places: ReadonlyMap<number, number>, at: number): number {
  const place = places.get(at)
  if (place === undefined) throw new Error(`Character ${at} lies inside of a control token.`)
  return place
}

interface Request {
  start: number
  id?: number
  whole?: number
  inner: { at: number; text: number }[]
}

function cleaned(text: string, breaker: string): string {
  return breaker === '' ? text : text.replaceAll(breaker, '')
}

function tokensBefore(whole: Int32Array, before: Int32Array, text: string): number {
  const isStable = before.length <= whole.length && before.every((id, n) => id === whole[n])
  if (isStable) return before.length
  throw new RowLeftOut('unstable_boundary', `what follows ${JSON.stringify(text.slice(-40))} changes its last tokens`)
}
