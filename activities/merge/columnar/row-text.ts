import type { RecordBatch } from 'apache-arrow'
import { columnsOfSchema } from './arrow-types.ts'
import { type CellStyle, cellText } from './cell-text.ts'

/** Makes the reader of a batch's rows, each as a line of JSON with all columns in their order. */
export function rowText(batch: RecordBatch, style: CellStyle): (row: number) => string {
  const texts = columnsOfSchema(batch.schema).map(({ name, type }, n) => {
    const data = batch.data.children[n]
    return { key: JSON.stringify(name), text: data ? cellText(data, type, style) : () => 'null' }
  })
  return (row) => `{${texts.map(({ key, text }) => `${key}:${text(row)}`).join(',')}}`
}
