import { Arguments } from './arguments.ts'
import { strftime } from './strftime.ts'
import { textOf } from './text-of.ts'
import { type CallArguments, Callable, iterate, Namespace, TemplateFailed, type Value } from './values.ts'

export interface GlobalOptions {
  /** The day that `strftime_now` tells; without one a template that asks for it fails, since its text would change daily. */
  readonly today?: Date
}

/** Functions that every chat template may call. */
export function globals({ today }: GlobalOptions): [string, Value][] {
  const functions: Record<string, (args: Arguments) => Value> = {
    raise_exception: (args) => {
      throw new TemplateFailed(`The chat template refuses the conversation: ${textOf(args.at(0, 'message') ?? '')}`)
    },
    strftime_now: (args) => {
      if (!today) throw new TemplateFailed('The chat template asks for the date: give one as `today`.')
      return strftime(today, args.text(0, 'format') ?? '')
    },
    range: (args) => {
      const [first = 0, second, step = 1] = args.args.positional.map(Number)
      const [start, stop] = second === undefined ? [0, first] : [first, second]
      const numbers: number[] = []
      for (let at = start; step > 0 ? at < stop : at > stop; at += step) numbers.push(at)
      return numbers
    },
    namespace: ({ args }) => new Namespace(new Map([...firstDict(args), ...args.named])),
    dict: ({ args }) => new Map<Value, Value>([...firstDict(args), ...args.named]),
    joiner: (args) => {
      const separator = args.text(0, 'sep') ?? ', '
      let isUsed = false
      return new Callable('joiner', () => {
        const text = isUsed ? separator : ''
        isUsed = true
        return text
      })
    },
  }
  return Object.entries(functions).map(([name, call]) => [
    name,
    new Callable(name, (args: CallArguments) => call(new Arguments(name, args))),
  ])
}

function firstDict({ positional }: CallArguments): [string, Value][] {
  const [first] = positional
  if (first === undefined) return []
  if (first instanceof Map) return [...first].map(([key, value]) => [textOf(key), value])
  return iterate(first).map((pair) => {
    const [key = null, value = null] = iterate(pair)
    return [textOf(key), value]
  })
}
