import { Invalid } from '../engine/errors.ts'
import type { Call } from './call.ts'

const finding =
  "{'loc': ['header', 'content-type'], 'msg': \"Unsupported Media Type: Only 'application/json' is allowed\", 'type': 'value_error'}"

/** The OpenAI endpoints take nothing that does not call itself JSON. Throws `Invalid`. */
export function refuseOtherThanJson({ headers }: Call): void {
  const type = headers['content-type']
  const media = typeof type === 'string' ? type.split(';')[0]?.trim().toLowerCase() : ''
  if (media !== 'application/json') throw new Invalid([`${finding} [${finding}]`])
}
