import { methodOf } from './methods.ts'
import { slice } from './python-strings.ts'
import { itemsOf, Namespace, numberOf, TemplateFailed, Tuple, typeName, Undefined, type Value } from './values.ts'

/** `value.name`: a method comes before a key of the same name, as in Jinja. */
export function attributeOf(value: Value, name: string): Value {
  refuseUndefined(value, name)
  if (value instanceof Namespace) return value.attributes.get(name) ?? new Undefined(name)
  return methodOf(value, name) ?? keyed(value, name) ?? new Undefined(name)
}

/** `value[key]`: a key comes before a method of the same name. */
export function itemOf(value: Value, key: Value): Value {
  refuseUndefined(value, typeof key === 'string' ? key : '')
  if (value instanceof Namespace && typeof key === 'string') return attributeOf(value, key)
  const found = keyed(value, key)
  if (found !== undefined) return found
  const method = typeof key === 'string' ? methodOf(value, key) : undefined
  return method ?? new Undefined(typeof key === 'string' ? key : 'item')
}

function refuseUndefined(value: Value, name: string): void {
  if (value instanceof Undefined) throw new TemplateFailed(`${typeName(value)} has no ${name}.`)
}

function keyed(value: Value, key: Value): Value | undefined {
  if (value instanceof Map) return value.get(key)
  const place = numberOf(key)
  if (place === undefined) return undefined
  if (typeof value === 'string') return atPlace(Array.from(value), Number(place))
  const items = itemsOf(value)
  return items && atPlace(items, Number(place))
}

function atPlace(items: readonly Value[], place: number): Value | undefined {
  return items[place < 0 ? place + items.length : place]
}

/** `value[start:stop:step]`; of a text by code points. */
export function sliceOf(value: Value, bounds: readonly Value[]): Value {
  const [start, stop, step] = bounds.map((bound) => {
    const number = numberOf(bound)
    return number === undefined ? undefined : Number(number)
  })
  if (step === 0) throw new TemplateFailed('A slice can not have a step of 0.')
  if (typeof value === 'string') return slice(Array.from(value), start, stop, step).join('')
  const items = itemsOf(value)
  if (!items) throw new TemplateFailed(`${typeName(value)} can't be sliced.`)
  const taken = slice(items, start, stop, step)
  return value instanceof Tuple ? new Tuple(taken) : taken
}

/** The attribute that a filter names: `a.b` goes into what it finds, digits are places. */
export function attributeAtPath(value: Value, path: Value): Value {
  const steps = typeof path === 'string' ? path.split('.') : [path]
  let found = value
  for (const step of steps) found = itemOf(found, typeof step === 'string' && /^\d+$/.test(step) ? Number(step) : step)
  return found
}
