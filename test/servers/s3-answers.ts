/** Faults that are an answer of a server in trouble. */
export type AnswerFault = 'slow-down' | 'internal-error' | 'unavailable' | 'conflict' | 'wrong-clock' | 'gateway-page'

export interface Answer {
  status: number
  headers: Record<string, string>
  body: Buffer
}

/** How far off the clock of a server with the wrong time is: signatures made for it still pass the real one's check. */
const clockSkewMs = 10 * 60_000

/** The answer as a server gives it. */
export function answerOf(fault: AnswerFault, isConditional: boolean): Answer {
  switch (fault) {
    case 'slow-down':
      return xml(503, 'SlowDown', 'Please reduce your request rate.')
    case 'internal-error':
      return xml(500, 'InternalError', 'We encountered an internal error. Please try again.')
    case 'unavailable':
      return xml(503, 'ServiceUnavailable', 'Service is unable to handle request.')
    case 'conflict':
      return isConditional
        ? xml(409, 'ConditionalRequestConflict', 'A conflicting operation occurred.')
        : xml(409, 'OperationAborted', 'A conflicting conditional operation is in progress.')
    case 'wrong-clock':
      return {
        ...xml(
          403,
          'RequestTimeTooSkewed',
          'The difference between the request time and the server time is too large.',
        ),
        headers: { date: new Date(Date.now() + clockSkewMs).toUTCString() },
      }
    case 'gateway-page':
      return { status: 502, headers: {}, body: Buffer.from('<html><body><h1>502 Bad Gateway</h1></body></html>') }
  }
}

function xml(status: number, code: string, message: string): Answer {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`
  return { status, headers: {}, body: Buffer.from(body) }
}
