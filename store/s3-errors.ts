/** What an error of the SDK means for the store. */
export type S3Verdict =
  | 'not-found'
  | 'no-bucket'
  | 'precondition'
  | 'conflict'
  | 'range'
  | 'no-upload'
  | 'no-credentials'
  | 'transient'
  | 'refused'

/** An error of the SDK reduced to its facts: the original carries the response and, at times, what was signed. */
export class S3Failure extends Error {
  constructor(
    readonly verdict: S3Verdict,
    readonly code: string,
    readonly status: number | undefined,
    /** Attempts of the SDK; with more than one, an earlier one may have been carried out. */
    readonly attempts: number,
    message: string,
    readonly requestId: string | undefined,
  ) {
    super(message)
    this.name = code
  }

  /** The same failure, with the attempts of the calls before it counted in. */
  withAttempts(attempts: number): S3Failure {
    return new S3Failure(this.verdict, this.code, this.status, attempts, this.message, this.requestId)
  }
}

/** By the server's error code. Codes come first: one status stands for too many things. */
const verdictByCode: Readonly<Record<string, S3Verdict>> = {
  NoSuchKey: 'not-found',
  NotFound: 'not-found',
  NoSuchBucket: 'no-bucket',
  NoSuchUpload: 'no-upload',
  PreconditionFailed: 'precondition',
  InvalidRange: 'range',
  // Another writer is at the same key in this moment: to be put again.
  ConditionalRequestConflict: 'conflict',
  OperationAborted: 'transient',
  RequestTimeout: 'transient',
  // The SDK corrects its clock by the server's and tries again; a few answers may still be on the way.
  RequestTimeTooSkewed: 'transient',
  ExpiredToken: 'transient',
  TokenRefreshRequired: 'transient',
  // Damaged on the way: the next copy may arrive whole.
  BadDigest: 'transient',
  IncompleteBody: 'transient',
  XAmzContentSHA256Mismatch: 'transient',
  XAmzContentChecksumMismatch: 'transient',
  // 5xx, but no later try will find it implemented.
  NotImplemented: 'refused',
  // Certificates that are not trusted: waiting does not help.
  CERT_HAS_EXPIRED: 'refused',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'refused',
  SELF_SIGNED_CERT_IN_CHAIN: 'refused',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'refused',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'refused',
  ERR_TLS_CERT_ALTNAME_INVALID: 'refused',
}

/** Node's codes for wrong arguments. */
const isMisuse = /^ERR_(INVALID|OUT_OF_RANGE|MISSING|UNESCAPED|HTTP_INVALID)/

/** By HTTP status: replies to HEAD have no body, hence no code. Everything else from 500 up passes, from 400 up does not. */
const verdictByStatus: Readonly<Record<number, S3Verdict>> = {
  404: 'not-found',
  408: 'transient',
  412: 'precondition',
  416: 'range',
  425: 'transient',
  429: 'transient',
  501: 'refused',
}

/** The facts of an error that the SDK threw; undefined for one that is no answer of a store (a bug, an abort). */
export function describeS3Error(error: unknown): S3Failure | undefined {
  if (!(error instanceof Error) || error.name === 'AbortError') return undefined
  const { $metadata, $response, code, $fault } = error as SdkError
  const status = $metadata?.httpStatusCode ?? $response?.statusCode
  const name = error.name === 'Error' && typeof code === 'string' ? code : error.name
  const isFromNetwork = (typeof code === 'string' && !isMisuse.test(code)) || error.name === 'TimeoutError'
  if (status === undefined && !isFromNetwork && $fault === undefined && !isCredentialsError(error)) return undefined
  return new S3Failure(
    verdictOf(error, name, status),
    name,
    status,
    $metadata?.attempts ?? 1,
    error.message || name,
    $metadata?.requestId,
  )
}

function verdictOf(error: Error, name: string, status: number | undefined): S3Verdict {
  if (isCredentialsError(error)) return 'no-credentials'
  const byCode = Object.hasOwn(verdictByCode, name) ? verdictByCode[name] : undefined
  if (byCode) return byCode
  // No answer at all, or one that was cut off in the middle.
  if (status === undefined || status < 300) return 'transient'
  return verdictByStatus[status] ?? (status >= 500 ? 'transient' : 'refused')
}

function isCredentialsError(error: Error): boolean {
  return error.name === 'CredentialsProviderError' || error.name === 'TokenProviderError'
}

interface SdkError extends Error {
  code?: unknown
  $fault?: string
  $metadata?: { httpStatusCode?: number; attempts?: number; requestId?: string }
  $response?: { statusCode?: number }
}
