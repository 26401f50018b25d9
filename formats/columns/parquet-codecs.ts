import * as zlib from 'node:zlib'
import type { Compressors } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'

type Decompress = (input: Uint8Array) => Uint8Array

// In Node from 22.15 on.
const unzstdBuiltIn = (zlib as { zstdDecompressSync?: Decompress }).zstdDecompressSync

/** Codecs of Parquet pages: Node's own where it has them, which are native and check their checksums. */
const codecs: Compressors = {
  ...compressors,
  GZIP: (input) => zlib.gunzipSync(input),
  BROTLI: (input) => zlib.brotliDecompressSync(input),
  ...(unzstdBuiltIn && { ZSTD: unzstdBuiltIn }),
}

/** Pages of columns that are all null hold nothing, which some codecs write in a way that the library's can't read. */
export const pageCodecs: Compressors = Object.fromEntries(
  Object.entries(codecs).map(([name, codec]) => [
    name,
    (input: Uint8Array, outputLength: number) =>
      outputLength === 0 ? new Uint8Array(0) : (codec?.(input, outputLength) ?? input),
  ]),
)
