import type { Column } from '../../../domain/columns.ts'
import type { TokenizeOptions } from '../../../domain/tokenize-spec.ts'

/** The columns that tokenized rows are written with. */
export function outputColumns(mask: TokenizeOptions['mask']): Column[] {
  return [
    { name: 'input_ids', type: { kind: 'list', item: { kind: 'int', bits: 32 } } },
    { name: 'loss_mask', type: { kind: 'list', item: mask === 'bool' ? { kind: 'bool' } : { kind: 'int', bits: 8 } } },
    { name: 'length', type: { kind: 'int', bits: 32 } },
    { name: 'promptId', type: { kind: 'string' } },
    { name: 'source', type: { kind: 'string' } },
  ]
}

/** Bytes that rows take in Arrow, about: ids, mask, and for each row two offsets, its length, and two texts. */
export function arrowBytes(tokens: number, rows: number, mask: TokenizeOptions['mask']): number {
  return tokens * (mask === 'bool' ? 4.125 : 5) + rows * 72
}
