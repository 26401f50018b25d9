import { isUtf8 } from 'node:buffer'
import { Invalid, Unparsable } from '../engine/errors.ts'
import { jsonFault } from './json-fault.ts'

export type Fields = Record<string, unknown>

/** The JSON of a body. Throws `Invalid` or `Unparsable` as the web framework would. */
export function parseBody(body: Buffer): unknown {
  if (body.length === 0) throw new Invalid([missing(['body'], 'None')])
  if (!isUtf8(body)) throw new Unparsable()
  const text = body.toString('utf8')
  try {
    return JSON.parse(text)
  } catch {
    const { message, at } = jsonFault(text)
    throw new Invalid([
      `{'type': 'json_invalid', 'loc': ('body', ${at}), 'msg': 'JSON decode error', 'input': {}, 'ctx': {'error': ${pythonString(message)}}}`,
    ])
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function missing(path: readonly (string | number)[], input: string): string {
  return `{'type': 'missing', 'loc': ${pythonTuple(path)}, 'msg': 'Field required', 'input': ${input}}`
}

export function pythonTuple(path: readonly (string | number)[]): string {
  const items = path.map((item) => (typeof item === 'number' ? `${item}` : pythonString(item)))
  return items.length === 1 ? `(${items[0]},)` : `(${items.join(', ')})`
}

export function pythonString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t')
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote
}

/** A JSON value as Python prints it. */
export function pythonRepr(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string') return pythonString(value)
  if (Array.isArray(value)) return `[${value.map(pythonRepr).join(', ')}]`
  if (isFields(value)) {
    return `{${Object.entries(value)
      .map(([key, item]) => `${pythonString(key)}: ${pythonRepr(item)}`)
      .join(', ')}}`
  }
  return String(value)
}
