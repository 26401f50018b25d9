import { PreconditionFailed } from './errors.ts'
import type { CallSite, S3Connection } from './s3-connection.ts'
import type { S3Failure } from './s3-errors.ts'
import type { ObjectInfo, PutOptions } from './store.ts'

/** The condition of a put as S3 writes it. */
export function conditionHeaders(onlyIf: PutOptions['onlyIf']): { IfNoneMatch?: '*'; IfMatch?: string } {
  if (onlyIf === undefined) return {}
  return onlyIf === 'absent' ? { IfNoneMatch: '*' } : { IfMatch: onlyIf.etag }
}

/**
 * What a failed condition means: one's own write whose reply was lost, found by its token, or a lost race. Looked up even
 * after a single attempt, because proxies repeat requests too.
 */
export function lostCondition(
  s3: S3Connection,
  site: CallSite,
  token: string,
  onlyIf: PutOptions['onlyIf'],
): (failure: S3Failure) => Promise<ObjectInfo> {
  return async ({ attempts }) => {
    const own = await s3.ownWrite({ ...site, operation: 'read back' }, token)
    if (own) return own
    throw new PreconditionFailed(s3.uri, site.key, onlyIf ?? 'absent', attempts > 1)
  }
}
