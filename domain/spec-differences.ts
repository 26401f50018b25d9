import type { Spec } from './spec.ts'

/** How a run is worked on, not what comes out of it: these may differ when it is started again. */
const operational: readonly (keyof Spec)[] = [
  'engines',
  'lanes',
  'compression',
  'verify',
  'timings',
  '$schema',
  'store',
]

/** What differs between the spec that a run was started with and another one: a line each, in the spec's own words. */
export function differingFields(frozen: Spec, given: Spec): string[] {
  const without = (spec: Spec) =>
    Object.fromEntries(Object.entries(spec).filter(([key]) => !operational.includes(key as keyof Spec)))
  return differences(without(frozen), without(given), '')
}

function differences(frozen: unknown, given: unknown, path: string): string[] {
  if (isTree(frozen) && isTree(given)) {
    const keys = [...new Set([...Object.keys(frozen), ...Object.keys(given)])]
    return keys.flatMap((key) => differences(frozen[key], given[key], path === '' ? key : `${path}.${key}`))
  }
  if (JSON.stringify(frozen) === JSON.stringify(given)) return []
  return [`${path} was ${shown(frozen)}, now it is ${shown(given)}`]
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function shown(value: unknown): string {
  const text = value === undefined ? 'not given' : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 77)}…` : text
}
