import type { Column, ColumnType } from '../../../domain/columns.ts'

/** Which columns of a tokenized dataset hold what. */
export interface TokenColumns {
  readonly ids: string
  readonly mask: string
  /** The mask's column repeats the ids, and has -100 where nothing is to be learnt. */
  readonly isLabels: boolean
  readonly promptId?: string
  readonly source?: string
}

/** Names that other tools give to the columns, the usual one first. */
const idNames = ['input_ids', 'token_ids', 'tokens']
const maskNames = ['loss_mask', 'labels', 'assistant_masks', 'completion_mask']

/** Finds the columns of a tokenized dataset; undefined for one that is none. */
export function tokenColumns(columns: readonly Column[]): TokenColumns | undefined {
  const lists = columns.filter(({ type }) => type.kind === 'list')
  const named = (names: readonly string[]) =>
    names.flatMap((name) => lists.find((column) => column.name === name) ?? [])[0]
  const ids = named(idNames)
  const mask = named(maskNames)
  if (!ids || !mask || itemOf(ids.type)?.kind !== 'int') return undefined
  const hasText = (name: string) => columns.some((column) => column.name === name && column.type.kind === 'string')
  return {
    ids: ids.name,
    mask: mask.name,
    isLabels: mask.name === 'labels',
    ...(hasText('promptId') && { promptId: 'promptId' }),
    ...(hasText('source') && { source: 'source' }),
  }
}

function itemOf(type: ColumnType): ColumnType | undefined {
  return type.kind === 'list' ? type.item : undefined
}
