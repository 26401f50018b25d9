import { floatText } from './text-of.ts'
import { Float, itemsOf, TemplateFailed, typeName, type Value } from './values.ts'

export interface JsonStyle {
  /** Spaces, or what to indent by; null: all on one line. */
  readonly indent: number | string | null
  readonly separators?: readonly [item: string, key: string]
  readonly sortKeys: boolean
  /** Everything beyond ASCII as `\uXXXX`. */
  readonly asciiOnly: boolean
}

/** A value as Python's `json.dumps` writes it. Throws `TemplateFailed`. */
export function jsonText(value: Value, style: JsonStyle): string {
  const indent = typeof style.indent === 'number' ? ' '.repeat(style.indent) : style.indent
  const [itemEnd, keyEnd] = style.separators ?? [indent === null ? ', ' : ',', ': ']
  const write = (value: Value, depth: number): string => {
    const items = itemsOf(value)
    if (items) {
      const texts = items.map((item) => write(item, depth + 1))
      return enclosed('[', texts, ']', depth)
    }
    if (value instanceof Map) {
      const entries = style.sortKeys ? [...value].sort(([a], [b]) => (keyText(a) < keyText(b) ? -1 : 1)) : [...value]
      const texts = entries.map(
        ([key, inner]) => `${jsonString(keyText(key), style.asciiOnly)}${keyEnd}${write(inner, depth + 1)}`,
      )
      return enclosed('{', texts, '}', depth)
    }
    return typeof value === 'string' ? jsonString(value, style.asciiOnly) : jsonScalar(value)
  }
  const enclosed = (open: string, texts: readonly string[], close: string, depth: number) => {
    if (texts.length === 0 || indent === null) return `${open}${texts.join(itemEnd)}${close}`
    const line = `\n${indent.repeat(depth + 1)}`
    return `${open}${line}${texts.join(`${itemEnd}${line}`)}\n${indent.repeat(depth)}${close}`
  }
  return write(value, 0)
}

function keyText(key: Value): string {
  return typeof key === 'string' ? key : jsonScalar(key)
}

function jsonScalar(value: Value): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number' || typeof value === 'bigint') return BigInt(value).toString()
  if (value instanceof Float) {
    if (Number.isFinite(value.value)) return floatText(value.value)
    return Number.isNaN(value.value) ? 'NaN' : value.value > 0 ? 'Infinity' : '-Infinity'
  }
  throw new TemplateFailed(`${typeName(value)} can't be written as JSON.`)
}

/** JavaScript escapes lone surrogates, which Python leaves alone; no row has any. */
function jsonString(text: string, asciiOnly: boolean): string {
  const written = JSON.stringify(text)
  if (!asciiOnly) return written
  return written.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
