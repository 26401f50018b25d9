import { isFields } from '../http/body.ts'
import { Refused } from './errors.ts'
import type { SamplingParams } from './sampling.ts'

const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

/** Throws `Refused` for a pattern or schema that no grammar can be made of. */
export function refuseUncompilable({ regex, json_schema }: SamplingParams): void {
  if (typeof regex === 'string') {
    try {
      new RegExp(regex)
    } catch (error) {
      throw new Refused(`Failed to compile regex grammar: ${error instanceof Error ? error.message : error}`)
    }
  }
  if (typeof json_schema !== 'string') return
  let schema: unknown
  try {
    schema = JSON.parse(json_schema)
  } catch {
    throw new Refused('Failed to compile json grammar: the schema is no JSON')
  }
  const wrong = wrongTypeIn(schema)
  if (wrong !== undefined) throw new Refused(`Failed to compile json grammar: Invalid type: ${wrong}`)
}

function wrongTypeIn(schema: unknown): string | undefined {
  if (!isFields(schema)) return undefined
  const { type, properties, items } = schema
  if (typeof type === 'string' && !types.includes(type)) return type
  const parts = [...(isFields(properties) ? Object.values(properties) : []), items]
  return parts.map(wrongTypeIn).find((wrong) => wrong !== undefined)
}

/** The plainest value that a JSON schema allows; simple schemas only. */
export function plainestValue(schema: unknown): unknown {
  if (!isFields(schema)) return null
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [alternative] = [schema.anyOf, schema.oneOf, schema.allOf].filter(Array.isArray)
  if (alternative) return plainestValue(alternative[0])
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  const times = (count: unknown) => (typeof count === 'number' ? count : 0)
  switch (type) {
    case 'string':
      return 'x'.repeat(times(schema.minLength))
    case 'integer':
    case 'number':
      return times(schema.minimum)
    case 'boolean':
      return true
    case 'array':
      return Array.from({ length: times(schema.minItems) }, () => plainestValue(schema.items))
    case 'null':
      return null
    default:
      return plainestObject(schema.properties, schema.required)
  }
}

function plainestObject(properties: unknown, required: unknown): Record<string, unknown> {
  if (!isFields(properties)) return {}
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
  return Object.fromEntries(names.map((name) => [name, plainestValue(properties[name])]))
}
