import picomatch from 'picomatch'

const special = /[*?[\]{}]/

export function hasGlob(path: string): boolean {
  return special.test(path)
}

/** The folder above the first segment with a special character, without a slash at its end. */
export function globBase(path: string): string {
  const segments = path.split('/')
  const first = segments.findIndex((segment) => special.test(segment))
  return segments.slice(0, first).join('/')
}

/** `*` and `?` within a segment, `**` across segments, `[a-c]`, `{a,b}`; what begins with a dot only when asked for. */
export function matcherOf(pattern: string): (name: string) => boolean {
  const matches = picomatch(pattern)
  return (name) => matches(name)
}
