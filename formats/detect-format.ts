import { BadFile } from './bad-file.ts'

export type Format = 'jsonl' | 'json' | 'parquet' | 'arrow' | 'csv' | 'tsv'

/** What content alone tells, by the bytes it begins with (hex). */
const magics: readonly { magic: string; format?: Format; refusal?: string }[] = [
  { magic: '50415231', format: 'parquet' },
  { magic: '4152524f5731', format: 'arrow' },
  { magic: 'ffffffff', format: 'arrow' },
  { magic: '504b0304', refusal: 'a zip archive; unpack it' },
  // The beginning of "version https://git-lfs".
  { magic: '76657273696f6e20', refusal: 'a pointer of Git LFS and not the file itself; fetch it with git lfs pull' },
  { magic: '425a68', refusal: 'compressed twice' },
  { magic: '1f8b', refusal: 'compressed twice' },
  { magic: '28b52ffd', refusal: 'compressed twice' },
]

/** Byte order marks of what is not UTF-8, and how its ASCII characters look without one. */
const otherEncodings: readonly { name: string; begins: RegExp }[] = [
  { name: 'UTF-32', begins: /^(fffe0000|0000feff|000000[2-7][0-9a-f]|[2-7][0-9a-f]000000)/ },
  { name: 'UTF-16', begins: /^(fffe|feff|00[2-7][0-9a-f]00|[2-7][0-9a-f]00[0-7][0-9a-f]00)/ },
]

const extensions: readonly { names: RegExp; format: Format }[] = [
  { names: /\.csv(\.\w+)?$/i, format: 'csv' },
  { names: /\.tsv(\.\w+)?$/i, format: 'tsv' },
  { names: /\.(jsonl|ndjson)(\.\w+)?$/i, format: 'jsonl' },
]

/** Bytes of a file that are enough to tell its format. */
export const headBytes = 4096

/** The format of a file from how it begins and, where that says nothing, its name. Throws `BadFile`. */
export function detectFormat(head: Buffer, name: string): Format {
  if (head.length === 0) throw new BadFile('empty', 'no bytes at all')
  const begin = head.subarray(0, 8).toString('hex')
  const known = magics.find(({ magic }) => begin.startsWith(magic))
  if (known?.format) return known.format
  if (known?.refusal) throw new BadFile('unsupported', known.refusal)
  const encoding = otherEncodings.find(({ begins }) => begins.test(begin))
  if (encoding) throw new BadFile('wrong_encoding', `it looks like ${encoding.name}; convert it`)
  return textFormat(head, name)
}

function textFormat(head: Buffer, name: string): Format {
  const byName = extensions.find(({ names }) => names.test(name))?.format
  if (byName === 'csv' || byName === 'tsv') return byName
  const text = head
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart()
  if (/^\[\s*(\{|\]|$)/.test(text)) return 'json'
  // An opening brace alone on its line: objects written over several lines.
  if (/^\{\s*\n/.test(text)) return 'json'
  if (text.startsWith('{') || byName === 'jsonl' || text === '') return 'jsonl'
  throw new BadFile('unknown_format', `it begins with ${JSON.stringify(text.slice(0, 40))}`)
}
