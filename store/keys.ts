import { InvalidKey } from './errors.ts'

/** Names that begin so are the file store's own: unfinished writes and locks. */
export const ownNamePrefix = '.~longhaul-'

/** S3's limit, in UTF-8 bytes, for a key with the store's prefix. */
const longestKey = 1024
/** The limit of every common file system, in UTF-8 bytes. */
const longestSegment = 255

/** Throws `InvalidKey` for a key that is not safe on S3 and file systems alike. */
export function checkKey(uri: string, key: string): void {
  const problem = problemOfKey(key)
  if (problem) throw new InvalidKey(uri, key, problem)
}

/** A prefix may end anywhere, also within a name; what can be no part of a key can be no part of a prefix. */
export function checkPrefix(uri: string, prefix: string): void {
  if (prefix === '') return
  const endsInFolder = prefix.endsWith('/')
  const problem = problemOfKey(endsInFolder ? prefix.slice(0, -1) : prefix, { lastIsUnfinished: !endsInFolder })
  if (problem) throw new InvalidKey(uri, prefix, problem)
}

export function isValidKey(key: string): boolean {
  return problemOfKey(key) === undefined
}

/** Order of the keys' UTF-8 bytes, which differs from that of JavaScript strings beyond U+FFFF. */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function problemOfKey(key: string, { lastIsUnfinished = false } = {}): string | undefined {
  if (key === '') return 'it is empty'
  if (key.startsWith('/') || key.endsWith('/')) return 'it begins or ends with a slash'
  if (/[\u0000-\u001f\u007f]/.test(key)) return 'it contains a control character'
  if (key.includes('\\')) return 'it contains a backslash, which some servers take for a slash'
  if (!isWellFormed(key)) return 'it contains half a surrogate pair, which UTF-8 cannot express'
  if (Buffer.byteLength(key) > longestKey) return `it is longer than ${longestKey} bytes`
  const segments = key.split('/')
  const unfinished = lastIsUnfinished ? segments.length - 1 : -1
  for (const [index, segment] of segments.entries()) {
    if (segment === '') return 'it contains an empty name (two slashes in a row)'
    if (Buffer.byteLength(segment) > longestSegment) return `a name in it is longer than ${longestSegment} bytes`
    if (segment.startsWith(ownNamePrefix)) return `names that begin with ${ownNamePrefix} are the store's own`
    if ((segment === '.' || segment === '..') && index !== unfinished) return `it contains the name ${segment}`
  }
  return undefined
}

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}
