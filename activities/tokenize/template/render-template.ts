import { applyFilter, callArguments, evaluate } from './evaluate.ts'
import { type GlobalOptions, globals } from './globals.ts'
import { Scope } from './scope.ts'
import { type Node, type Parameter, parseTemplate } from './syntax.ts'
import { textOf } from './text-of.ts'
import {
  type CallArguments,
  Callable,
  isTrue,
  iterate,
  Namespace,
  TemplateFailed,
  Undefined,
  type Value,
} from './values.ts'

/** A chat template ready for use: gives the text for a context. Throws `TemplateFailed`. */
export type RenderTemplate = (context: ReadonlyMap<string, Value>) => string

/**
 * Reads a chat template. What it renders is what jinja2 renders with the settings, filters and functions of Hugging Face
 * transformers, byte for byte. Throws `TemplateNotReadable`.
 */
export function compileTemplate(source: string, options: GlobalOptions = {}): RenderTemplate {
  const body = parseTemplate(source)
  const root = new Scope(globals(options))
  return (context) => {
    const output = new Output()
    output.run(body, new Scope(context, root))
    return output.text
  }
}

type Signal = 'break' | 'continue' | undefined

class Output {
  text = ''

  run(nodes: readonly Node[], scope: Scope): Signal {
    for (const node of nodes) {
      const signal = this.#statement(node, scope)
      if (signal) return signal
    }
    return undefined
  }

  #statement(node: Node, scope: Scope): Signal {
    switch (node.type) {
      case 'Comment':
        return undefined
      case 'Break':
        return 'break'
      case 'Continue':
        return 'continue'
      case 'If':
        return this.run(isTrue(evaluate(node.test, scope)) ? node.body : node.alternate, scope)
      case 'For':
        return this.#loop(node, scope)
      case 'Set':
        assign(node.assignee, node.value ? evaluate(node.value, scope) : captured(node.body, scope), scope)
        return undefined
      case 'Macro':
        scope.set(node.name.value, macro(node, scope))
        return undefined
      case 'FilterStatement':
        this.text += textOf(applyFilter(captured(node.body, scope), node.filter, scope))
        return undefined
      case 'CallStatement':
        this.#callBlock(node, scope)
        return undefined
      default:
        this.text += textOf(evaluate(node, scope))
        return undefined
    }
  }

  #loop(node: Extract<Node, { type: 'For' }>, scope: Scope): Signal {
    const items = loopItems(node, scope)
    if (items.length === 0) return this.run(node.defaultBlock, scope)
    for (const [n, item] of items.entries()) {
      const inner = new Scope([['loop', loopFacts(items, n)]], scope)
      assign(node.loopvar, item, inner)
      if (this.run(node.body, inner) === 'break') break
    }
    return undefined
  }

  #callBlock(node: Extract<Node, { type: 'CallStatement' }>, scope: Scope): void {
    if (node.call.type !== 'CallExpression') throw new TemplateFailed('A call block calls nothing.')
    const callee = evaluate(node.call.callee, scope)
    if (!(callee instanceof Callable)) throw new TemplateFailed('A call block calls what is no macro.')
    const caller = macro({ name: { value: 'caller' }, args: node.callerArgs ?? [], body: node.body }, scope)
    const { positional, named } = callArguments(node.call.args, scope)
    this.text += textOf(callee.call({ positional, named: new Map([...named, ['caller', caller]]) }))
  }
}

function captured(body: readonly Node[], scope: Scope): string {
  const output = new Output()
  output.run(body, new Scope([], scope))
  return output.text
}

/** The items of a loop; its condition, where it has one, sees the loop's own variables. */
function loopItems({ loopvar, iterable }: Extract<Node, { type: 'For' }>, scope: Scope): readonly Value[] {
  if (iterable.type !== 'SelectExpression') return iterate(evaluate(iterable, scope))
  return iterate(evaluate(iterable.lhs, scope)).filter((item) => {
    const inner = new Scope([], scope)
    assign(loopvar, item, inner)
    return isTrue(evaluate(iterable.test, inner))
  })
}

function loopFacts(items: readonly Value[], n: number): Value {
  const { length } = items
  return new Map<Value, Value>([
    ['index', n + 1],
    ['index0', n],
    ['first', n === 0],
    ['last', n === length - 1],
    ['length', length],
    ['revindex', length - n],
    ['revindex0', length - n - 1],
    ['depth', 1],
    ['previtem', items[n - 1] ?? new Undefined('the item before the first')],
    ['nextitem', items[n + 1] ?? new Undefined('the item after the last')],
    ['cycle', new Callable('cycle', ({ positional }) => positional[n % positional.length] ?? null)],
  ])
}

function assign(target: Node, value: Value, scope: Scope): void {
  if (target.type === 'Identifier') scope.set(target.value, value)
  else if (target.type === 'TupleLiteral') assignEach(target.value, iterate(value), scope)
  else if (target.type === 'MemberExpression' && target.property.type === 'Identifier') {
    const owner = evaluate(target.object, scope)
    if (!(owner instanceof Namespace)) throw new TemplateFailed('Only attributes of a namespace can be set.')
    owner.attributes.set(target.property.value, value)
  } else throw new TemplateFailed(`A ${target.type} can't be assigned to.`)
}

function assignEach(targets: readonly Node[], values: readonly Value[], scope: Scope): void {
  if (targets.length !== values.length) {
    throw new TemplateFailed(`${values.length} values are to go into ${targets.length} names.`)
  }
  for (const [n, target] of targets.entries()) assign(target, values[n] ?? null, scope)
}

interface MacroParts {
  name: { value: string }
  args: readonly Parameter[]
  body: readonly Node[]
}

function macro({ name, args: parameters, body }: MacroParts, scope: Scope): Callable {
  return new Callable(name.value, ({ positional, named }: CallArguments) => {
    const inner = new Scope([], scope)
    for (const [n, parameter] of parameters.entries()) {
      const key = parameter.type === 'Identifier' ? parameter.value : parameter.key.value
      const otherwise = parameter.type === 'Identifier' ? new Undefined(key) : evaluate(parameter.value, inner)
      inner.set(key, positional[n] ?? named.get(key) ?? otherwise)
    }
    const caller = named.get('caller')
    if (caller) inner.set('caller', caller)
    const output = new Output()
    output.run(body, inner)
    return output.text
  })
}
