/** A pattern of `include` or `exclude`, ready for use; undefined when it is none. */
export function compiled(pattern: string): RegExp | undefined {
  const [, source = pattern, flags = 'u'] = /^\/(.+)\/([a-z]*)$/s.exec(pattern) ?? []
  try {
    // The flags g and y would make a match depend on the one before.
    return new RegExp(source, flags.replace(/[gy]/g, ''))
  } catch {
    return undefined
  }
}
