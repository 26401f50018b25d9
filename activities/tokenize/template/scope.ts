import { Undefined, type Value } from './values.ts'

/** Names and what they stand for; loops and macros have one of their own inside of the one around them. */
export class Scope {
  readonly #values: Map<string, Value>

  constructor(
    values: Iterable<readonly [string, Value]> = [],
    readonly outer?: Scope,
  ) {
    this.#values = new Map(values)
  }

  get(name: string): Value {
    for (let scope: Scope | undefined = this; scope; scope = scope.outer) {
      const value = scope.#values.get(name)
      if (value !== undefined) return value
    }
    return new Undefined(name)
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value)
  }
}
