import type { Mapping } from '../../../domain/spec.ts'
import { conversationColumns } from '../../../formats/conversation/read-conversation.ts'
import { roleTable } from '../../../formats/conversation/roles.ts'
import type { Row } from '../../../formats/conversation/row.ts'
import { decodeRaw, memberOf, type RawNode } from './raw-json.ts'

/**
 * Decodes of a row only what its conversation skeleton is made of: not what the assistant says, and no column that is not
 * read for it. What is left out is as if it were empty; the skeleton is the same as that of the whole row.
 */
export function thinRowReader(mapping: Mapping = {}) {
  const columns = conversationColumns(mapping)
  const roles = roleTable(mapping.roles)
  const roleKeys = mapping.role ? [mapping.role] : ['role', 'from', 'speaker']
  const textKeys = new Set(mapping.content ? [mapping.content] : ['content', 'value', 'text'])

  function isAssistant(bytes: Buffer, turn: RawNode): boolean {
    // The first key that holds something says the role, as for a reader of whole rows.
    for (const key of roleKeys) {
      const node = memberOf(turn, key)
      if (!node || node.kind === 'null' || (node.kind === 'string' && node.end - node.start === 2)) continue
      const name = node.kind === 'string' ? (decodeRaw(bytes, node) as string) : ''
      return roles.get(name.trim().toLowerCase()) === 'assistant'
    }
    return false
  }

  function turnOf(bytes: Buffer, turn: RawNode): unknown {
    if (turn.kind !== 'object' || !isAssistant(bytes, turn)) return decodeRaw(bytes, turn)
    const { names = [], items = [] } = turn
    const thin: Record<string, unknown> = {}
    names.forEach((name, n) => {
      const node = items[n]
      const isAnswer = textKeys.has(name) && node?.kind === 'string'
      if (roleKeys.includes(name) && node) thin[name] = decodeRaw(bytes, node)
      else if (isAnswer) thin[name] = ''
    })
    return thin
  }

  return function thinRow(bytes: Buffer, row: RawNode): Row {
    const { names = [], items = [] } = row
    const thin: Record<string, unknown> = {}
    names.forEach((name, n) => {
      const node = items[n]
      if (!node || !columns.has(name)) return
      const isTurns = node.kind === 'array' && node.items?.[0]?.kind === 'object'
      thin[name] = isTurns ? (node.items ?? []).map((turn) => turnOf(bytes, turn)) : decodeRaw(bytes, node)
    })
    return thin
  }
}
