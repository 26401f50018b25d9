import { type CallArguments, numberOf, TemplateFailed, typeName, type Value } from './values.ts'

/** Reads the arguments of a call by place or by name. */
export class Arguments {
  constructor(
    readonly callee: string,
    readonly args: CallArguments,
  ) {}

  at(place: number, name: string): Value | undefined {
    return this.args.positional[place] ?? this.args.named.get(name)
  }

  text(place: number, name: string): string | undefined {
    const value = this.at(place, name)
    if (value === undefined || value === null) return undefined
    if (typeof value !== 'string') throw this.unfit(name, value)
    return value
  }

  whole(place: number, name: string): number | undefined {
    const value = this.at(place, name)
    if (value === undefined || value === null) return undefined
    const number = numberOf(value)
    if (number === undefined || !Number.isInteger(Number(number))) throw this.unfit(name, value)
    return Number(number)
  }

  unfit(name: string, value: Value): TemplateFailed {
    return new TemplateFailed(`${this.callee} can't take ${typeName(value)} as ${name}.`)
  }
}
