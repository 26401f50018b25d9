import { attributeAtPath, attributeOf, itemOf, sliceOf } from './access.ts'
import { Arguments } from './arguments.ts'
import { filters, picked } from './filters.ts'
import { operate } from './operators.ts'
import type { Scope } from './scope.ts'
import type { CallNode, Node } from './syntax.ts'
import { testNamed } from './tests.ts'
import {
  type CallArguments,
  Callable,
  Float,
  isTrue,
  iterate,
  numberOf,
  TemplateFailed,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.ts'

/** The value of an expression. Throws `TemplateFailed`. */
export function evaluate(node: Node, scope: Scope): Value {
  switch (node.type) {
    case 'StringLiteral':
    case 'IntegerLiteral':
      return node.value
    case 'FloatLiteral':
      return new Float(node.value)
    case 'Identifier':
      return named(node.value, scope)
    case 'MemberExpression':
      return member(node, scope)
    case 'CallExpression':
      return call(node, scope)
    case 'FilterExpression':
      return applyFilter(evaluate(node.operand, scope), node.filter, scope)
    case 'TestExpression':
      return test(node.test.value, evaluate(node.operand, scope)) !== node.negate
    case 'UnaryExpression':
      return unary(node.operator.value, evaluate(node.argument, scope))
    case 'BinaryExpression':
      return binary(node, scope)
    case 'Ternary':
      return evaluate(isTrue(evaluate(node.condition, scope)) ? node.trueExpr : node.falseExpr, scope)
    case 'SelectExpression':
      return isTrue(evaluate(node.test, scope)) ? evaluate(node.lhs, scope) : new Undefined('the other case')
    case 'ArrayLiteral':
      return node.value.map((item) => evaluate(item, scope))
    case 'TupleLiteral':
      return new Tuple(node.value.map((item) => evaluate(item, scope)))
    case 'ObjectLiteral':
      return new Map([...node.value].map(([key, value]) => [evaluate(key, scope), evaluate(value, scope)]))
    default:
      throw new TemplateFailed(`The chat template has a ${node.type} where a value should be.`)
  }
}

const constants: Readonly<Record<string, Value>> = {
  ...{ true: true, True: true, false: false, False: false, none: null, None: null },
}

function named(name: string, scope: Scope): Value {
  return Object.hasOwn(constants, name) ? (constants[name] ?? null) : scope.get(name)
}

function member(node: Extract<Node, { type: 'MemberExpression' }>, scope: Scope): Value {
  const value = evaluate(node.object, scope)
  const { property } = node
  if (!node.computed) {
    return property.type === 'Identifier'
      ? attributeOf(value, property.value)
      : itemOf(value, evaluate(property, scope))
  }
  if (property.type !== 'SliceExpression') return itemOf(value, evaluate(property, scope))
  const bounds = [property.start, property.stop, property.step]
  return sliceOf(
    value,
    bounds.map((bound) => (bound ? evaluate(bound, scope) : null)),
  )
}

function call(node: CallNode, scope: Scope): Value {
  const callee = evaluate(node.callee, scope)
  if (!(callee instanceof Callable)) throw new TemplateFailed(`${typeName(callee)} can't be called.`)
  return callee.call(callArguments(node.args, scope))
}

export function callArguments(nodes: readonly Node[], scope: Scope): CallArguments {
  const positional: Value[] = []
  const given = new Map<string, Value>()
  for (const node of nodes) {
    if (node.type === 'KeywordArgumentExpression') given.set(node.key.value, evaluate(node.value, scope))
    else if (node.type === 'SpreadExpression') positional.push(...iterate(evaluate(node.argument, scope)))
    else if (node.type === 'KeywordSpreadExpression') {
      const dict = evaluate(node.argument, scope)
      if (!(dict instanceof Map)) throw new TemplateFailed('Only a dict can be spread with **.')
      for (const [key, value] of dict) given.set(String(key), value)
    } else positional.push(evaluate(node, scope))
  }
  return { positional, named: given }
}

/** `value | filter`, with or without arguments. */
export function applyFilter(value: Value, filter: Node, scope: Scope): Value {
  if (filter.type === 'Identifier') return filtered(filter.value, value, { positional: [], named: new Map() })
  if (filter.type === 'CallExpression' && filter.callee.type === 'Identifier') {
    return filtered(filter.callee.value, value, callArguments(filter.args, scope))
  }
  throw new TemplateFailed(`The chat template has a ${filter.type} where a filter should be.`)
}

function filtered(name: string, value: Value, given: CallArguments): Value {
  const args = new Arguments(name, given)
  if (name === 'map') return mapped(value, args)
  if (name === 'select' || name === 'reject') return picked(value, args, 'item', name === 'select')
  if (name === 'selectattr' || name === 'rejectattr') return picked(value, args, 'attribute', name === 'selectattr')
  const filter = Object.hasOwn(filters, name) ? filters[name] : undefined
  if (!filter) throw new TemplateFailed(`The filter ${name} of the chat template is not known.`)
  return filter(value, args)
}

function mapped(value: Value, args: Arguments): Value {
  const attribute = args.args.named.get('attribute')
  if (attribute !== undefined) {
    const otherwise = args.args.named.get('default')
    return iterate(value).map((item) => {
      const found = attributeAtPath(item, attribute)
      return found instanceof Undefined && otherwise !== undefined ? otherwise : found
    })
  }
  const [name, ...positional] = args.args.positional
  if (typeof name !== 'string') throw new TemplateFailed('map needs the name of a filter or an attribute.')
  return iterate(value).map((item) => filtered(name, item, { positional, named: args.args.named }))
}

function test(name: string, value: Value): boolean {
  const known = testNamed(name)
  if (!known) throw new TemplateFailed(`The test ${name} of the chat template is not known.`)
  return known(value, undefined)
}

function unary(operator: string, value: Value): Value {
  if (operator === 'not') return !isTrue(value)
  const number = numberOf(value)
  if (number === undefined) throw new TemplateFailed(`${typeName(value)} has no sign.`)
  const signed = operator === '-' ? -number : number
  return value instanceof Float ? new Float(Number(signed)) : signed
}

function binary(node: Extract<Node, { type: 'BinaryExpression' }>, scope: Scope): Value {
  const operator = node.operator.value
  const left = evaluate(node.left, scope)
  if (operator === 'and') return isTrue(left) ? evaluate(node.right, scope) : left
  if (operator === 'or') return isTrue(left) ? left : evaluate(node.right, scope)
  return operate(operator, left, evaluate(node.right, scope))
}
