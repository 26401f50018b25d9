import { RowRejected, shown } from '../row-rejected.ts'
import { refuseUnfitText } from './content.ts'
import { isObject } from './row.ts'

/** Parses a column that holds JSON in a string; undefined when it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Tool definitions: a list of objects, the JSON of one, or a list of the JSON of objects. Nothing when there are none. */
export function toolsOf(value: unknown): unknown[] | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const parsed = typeof value === 'string' ? parsedJson(value) : value
  const list = isObject(parsed) ? [parsed] : parsed
  if (!Array.isArray(list)) throw new RowRejected('tools_unreadable', shown(value))
  const tools = list.map((tool) => (typeof tool === 'string' ? parsedJson(tool) : tool))
  if (!tools.every(isObject)) throw new RowRejected('tools_unreadable', shown(value))
  refuseUncarriable(tools)
  return tools.length > 0 ? tools : undefined
}

/** Arguments for the chat template: an object or the JSON of one; what is null was only a column of the table. */
export function templateKwargsOf(value: unknown): Record<string, unknown> | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const parsed = typeof value === 'string' ? parsedJson(value) : value
  if (!isObject(parsed)) throw new RowRejected('template_kwargs_unreadable', shown(value))
  refuseUncarriable(parsed)
  const given = Object.entries(parsed).filter(([, argument]) => argument !== null && argument !== undefined)
  return given.length > 0 ? Object.fromEntries(given) : undefined
}

/**
 * Refuses what would arrive as something else: numbers beyond 2^53 have lost digits when JSON was parsed, half a surrogate
 * pair has no UTF-8.
 */
function refuseUncarriable(value: unknown): void {
  if (typeof value === 'bigint') throw new RowRejected('unsafe_number', shown(value))
  if (typeof value === 'string') refuseUnfitText(value)
  if (typeof value === 'number') {
    const isLossy = !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))
    if (isLossy) throw new RowRejected('unsafe_number', shown(value))
  } else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) refuseUncarriable(inner)
  }
}
