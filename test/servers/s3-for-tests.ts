import { ToolNotAvailable } from './cached-tools.ts'
import type { S3Server } from './s3-server.ts'
import { startSeaweedfs } from './seaweedfs.ts'
import { startVersitygw } from './versitygw.ts'

/** A running S3 server: versitygw where it can be had, else SeaweedFS. */
export async function s3ForTests(): Promise<S3Server> {
  try {
    return await startVersitygw()
  } catch (error) {
    if (!(error instanceof ToolNotAvailable)) throw error
    return await startSeaweedfs()
  }
}
