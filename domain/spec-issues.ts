import type { z } from 'zod'

type Issue = z.core.$ZodIssue

/** A line per problem of a spec: the field, its value, and what is allowed there. */
export function describeIssues(issues: readonly Issue[], input: unknown): string[] {
  if (input === undefined || input === null) {
    return [
      'there is none: give one JSON object, for example {"run":"my-run","sources":["/data/prompts.jsonl"],"engines":8}',
    ]
  }
  return issues.flatMap((issue) => describeIssue(issue, input, []))
}

function describeIssue(issue: Issue, input: unknown, prefix: PropertyKey[]): string[] {
  const path = [...prefix, ...issue.path]
  if (issue.code === 'invalid_union') return describeUnion(issue, input, path)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(
      (key) => `${fieldName([...path, key])} is not a field of a spec${path.length ? ' there' : ''}`,
    )
  }
  const value = valueAt(input, path)
  if (value === undefined) return [`${fieldName(path)} is missing; ${allowed(issue)}`]
  return [`${fieldName(path)} is ${shown(value)}; ${allowed(issue)}`]
}

/** Of a union's branches, the one whose problems lie deepest is the one that was meant. */
function describeUnion(
  issue: Extract<Issue, { code: 'invalid_union' }>,
  input: unknown,
  path: PropertyKey[],
): string[] {
  const branches = issue.errors.filter((branch) => branch.length > 0)
  const depth = (branch: readonly Issue[]) =>
    Math.max(...branch.map((inner) => inner.path.length + (isTypeMismatch(inner) ? 0 : 1)))
  const meant = [...branches].sort((a, b) => depth(b) - depth(a))[0]
  if (meant && depth(meant) > 0) return meant.flatMap((inner) => describeIssue(inner, input, path))
  const value = valueAt(input, path)
  const choices = branches.map((branch) => branch.map(allowed).join(' and '))
  const what = value === undefined ? 'is missing' : `is ${shown(value)}`
  return [`${fieldName(path)} ${what}; it ${choices.map((choice) => choice.replace(/^it /, '')).join(', or ')}`]
}

function isTypeMismatch(issue: Issue): boolean {
  return issue.code === 'invalid_type' && issue.path.length === 0
}

function allowed(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `it must be ${article(issue.expected)}`
    case 'too_small':
      return `it must ${bound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)}`
    case 'too_big':
      return `it must ${bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)}`
    case 'invalid_value':
      return `allowed are ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`
    default:
      return `it ${issue.message}`
  }
}

function bound(origin: string, relation: string, limit: number | bigint): string {
  if (origin === 'array') return `have ${relation} ${limit} ${limit === 1 ? 'entry' : 'entries'}`
  if (origin === 'string') return `have ${relation} ${limit} characters`
  return `be ${relation} ${limit}`
}

function article(type: string): string {
  const names: Record<string, string> = {
    int: 'a whole number',
    array: 'a list',
    object: 'an object',
    record: 'an object',
  }
  return names[type] ?? `a ${type}`
}

function fieldName(path: PropertyKey[]): string {
  if (path.length === 0) return 'the spec'
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '')
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 80 ? `${text.slice(0, 77)}…` : text
}

function valueAt(input: unknown, path: PropertyKey[]): unknown {
  let value = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<PropertyKey, unknown>)[key]
  }
  return value
}
