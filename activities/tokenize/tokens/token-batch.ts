import { type Data, makeData, RecordBatch, RecordBatchStreamWriter, type Schema, Struct } from 'apache-arrow'
import { fillMask } from '../rows/token-row.ts'
import type { PackedRow } from '../units/packed-rows.ts'

/** A batch is full with so many rows or tokens. */
const mostRows = 512
const mostTokens = 1024 * 1024

/** Collects rows for a record batch. The memory is used again for the next one. */
export class TokenBatch {
  #ids = new Int32Array(mostTokens)
  #mask = new Int8Array(mostTokens)
  readonly #offsets = new Int32Array(mostRows + 1)
  readonly #lengths = new Int32Array(mostRows)
  readonly #promptIds: string[] = []
  readonly #sources: string[] = []

  add(row: PackedRow): void {
    const { ids, spans, promptId, source } = row
    const { rows, tokens: start } = this
    const end = start + ids.length
    if (end > this.#ids.length) this.#grow(end)
    this.#ids.set(ids, start)
    this.#mask.fill(0, start, end)
    fillMask(this.#mask, spans, start)
    this.#lengths[rows] = ids.length
    this.#offsets[rows + 1] = end
    this.#promptIds.push(promptId)
    this.#sources.push(source)
  }

  get rows(): number {
    return this.#sources.length
  }

  get tokens(): number {
    return this.#offsets[this.rows] ?? 0
  }

  get isFull(): boolean {
    return this.rows >= mostRows || this.tokens >= mostTokens
  }

  clear(): void {
    this.#promptIds.length = 0
    this.#sources.length = 0
  }

  /** The rows as an Arrow stream: schema, one batch, end. */
  toStream(schema: Schema): Uint8Array {
    const { rows, tokens } = this
    const valueOffsets = this.#offsets.subarray(0, rows + 1)
    const [idsField, maskField, lengthField, promptIdField, sourceField] = schema.fields
    const list = (field: typeof idsField, values: Int32Array | Int8Array | Uint8Array): Data => {
      const type = field?.type
      const child = makeData({ type: type?.children[0]?.type, length: tokens, nullCount: 0, data: values } as never)
      return makeData({ type, length: rows, nullCount: 0, valueOffsets, child } as never)
    }
    const mask = this.#mask.subarray(0, tokens)
    const children = [
      list(idsField, this.#ids.subarray(0, tokens)),
      list(maskField, isBits(maskField) ? bitsOf(mask) : mask),
      makeData({ type: lengthField?.type, length: rows, nullCount: 0, data: this.#lengths.subarray(0, rows) } as never),
      texts(promptIdField, this.#promptIds),
      texts(sourceField, this.#sources),
    ]
    const data = makeData({ type: new Struct(schema.fields), length: rows, nullCount: 0, children })
    const writer = new RecordBatchStreamWriter()
    writer.write(new RecordBatch(schema, data))
    writer.finish()
    return writer.toUint8Array(true)
  }

  /** The rows as lines of JSON. */
  toLines(): string {
    let lines = ''
    for (let n = 0; n < this.rows; n++) {
      const [start, end] = [this.#offsets[n], this.#offsets[n + 1]]
      const names = `"promptId":${JSON.stringify(this.#promptIds[n])},"source":${JSON.stringify(this.#sources[n])}`
      lines += `{"input_ids":[${this.#ids.subarray(start, end).join()}],"loss_mask":[${this.#mask.subarray(start, end).join()}],"length":${this.#lengths[n]},${names}}\n`
    }
    return lines
  }

  #grow(tokens: number): void {
    const ids = new Int32Array(Math.max(tokens, 2 * this.#ids.length))
    const mask = new Int8Array(ids.length)
    ids.set(this.#ids)
    mask.set(this.#mask)
    this.#ids = ids
    this.#mask = mask
  }
}

function isBits(field: Schema['fields'][number] | undefined): boolean {
  return String(field?.type.children[0]?.type) === 'Bool'
}

function bitsOf(mask: Int8Array): Uint8Array {
  const bits = new Uint8Array(Math.ceil(mask.length / 8))
  for (let n = 0; n < mask.length; n++) if (mask[n]) bits[n >>> 3] = (bits[n >>> 3] ?? 0) | (1 << (n & 7))
  return bits
}

function texts(field: Schema['fields'][number] | undefined, values: readonly string[]): Data {
  const valueOffsets = new Int32Array(values.length + 1)
  const parts = values.map((value, n) => {
    const bytes = Buffer.from(value, 'utf8')
    valueOffsets[n + 1] = (valueOffsets[n] ?? 0) + bytes.length
    return bytes
  })
  const data = Buffer.concat(parts)
  return makeData({ type: field?.type, length: values.length, nullCount: 0, valueOffsets, data } as never)
}
