/** Keys that a server may leave out or fill as it likes: nobody may rely on them. */
const loose = new Set(['cached_tokens_details', 'decode_throughput', 'response_sent_to_client_ts'])

/** Where two JSON values differ in keys or types, one line each. Words and numbers do not count. */
export function shapeDifferences(real: unknown, simulated: unknown, path = '$'): string[] {
  const [wanted, got] = [kindOf(real), kindOf(simulated)]
  if (wanted !== got) return [`${path}: ${wanted} in the recording, ${got} here`]
  if (Array.isArray(real) && Array.isArray(simulated)) {
    if (real.length === 0 || simulated.length === 0) {
      return real.length === simulated.length
        ? []
        : [`${path}: ${real.length} items in the recording, ${simulated.length} here`]
    }
    return shapeDifferences(real[0], simulated[0], `${path}[0]`)
  }
  if (!isObject(real) || !isObject(simulated)) return []
  const names = new Set([...Object.keys(real), ...Object.keys(simulated)])
  return [...names].flatMap((name) => {
    if (loose.has(name)) return []
    if (!(name in simulated)) return [`${path}.${name}: not here`]
    if (!(name in real)) return [`${path}.${name}: not in the recording`]
    return shapeDifferences(real[name], simulated[name], `${path}.${name}`)
  })
}

/** The finish reasons in a reply or event, in order. */
export function finishReasons(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(finishReasons)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, item]) => {
    if (name !== 'finish_reason') return finishReasons(item)
    return [isObject(item) ? item.type : item]
  })
}

/** The message of an error reply, without what hangs on the tokenizer or on the web framework's version. */
export function comparableMessage(body: unknown): string | undefined {
  if (!isObject(body)) return undefined
  const message = isObject(body.error) ? body.error.message : (body.message ?? body.error ?? body.detail)
  if (typeof message !== 'string') return undefined
  return message
    .replace(/\n\n {2}File .*$/s, '')
    .replace(/\d+ tokens/g, 'N tokens')
    .replace(/keys in \[0, \d+\]/, 'keys in [0, N]')
    .replace(/(Failed to compile regex grammar:).*$/s, '$1')
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
