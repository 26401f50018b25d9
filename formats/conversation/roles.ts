import type { Role } from '../../domain/prompt.ts'

/** Every role name seen in public datasets, lower-cased. What is not here and not in a mapping is rejected. */
export const knownRoles: Readonly<Record<string, Role>> = {
  system: 'system',
  developer: 'system',
  human: 'user',
  user: 'user',
  prompter: 'user',
  gpt: 'assistant',
  assistant: 'assistant',
  chatgpt: 'assistant',
  bing: 'assistant',
  bard: 'assistant',
  model: 'assistant',
  tool: 'tool',
  function: 'tool',
  observation: 'tool',
}

/** The known roles and those of a mapping, which take precedence. */
export function roleTable(mapped: Readonly<Record<string, Role>> = {}): ReadonlyMap<string, Role> {
  const lowerCased = Object.entries(mapped).map(([name, role]): [string, Role] => [name.toLowerCase(), role])
  return new Map([...Object.entries(knownRoles), ...lowerCased])
}
