import { bytesOfToken } from './byte-alphabet.ts'
import type { TokenizerJson } from './tokenizer-json.ts'

/** Decodes ids of a byte-level vocabulary by looking their bytes up. */
export class ByteDecoder {
  private constructor(
    private readonly bytes: readonly (Uint8Array | undefined)[],
    private readonly controls: ReadonlySet<number>,
  ) {}

  /** Undefined for a tokenizer of another kind. */
  static of({ model, decoder, added_tokens = [] }: TokenizerJson): ByteDecoder | undefined {
    const { vocab } = model
    if (decoder?.type !== 'ByteLevel' || typeof vocab !== 'object' || vocab === null || Array.isArray(vocab))
      return undefined
    const bytes: (Uint8Array | undefined)[] = []
    for (const [token, id] of Object.entries(vocab as Record<string, number>)) {
      bytes[id] = bytesOfToken(token) ?? Buffer.from(token)
    }
    for (const { content, id } of added_tokens) bytes[id] = Buffer.from(content)
    return new ByteDecoder(bytes, new Set(added_tokens.filter(({ special }) => special).map(({ id }) => id)))
  }

  /** What is no UTF-8, such as half a character at a cut, shows as U+FFFD. */
  decode(ids: ArrayLike<number>, withControls: boolean): string {
    const parts: Uint8Array[] = []
    for (let n = 0; n < ids.length; n++) {
      const id = ids[n] ?? -1
      const bytes = this.bytes[id]
      if (bytes && (withControls || !this.controls.has(id))) parts.push(bytes)
    }
    return Buffer.concat(parts).toString('utf8')
  }
}
