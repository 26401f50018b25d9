import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { ToolNotAvailable } from '../servers/cached-tools.ts'
import { startSeaweedfs } from '../servers/seaweedfs.ts'
import { startVersitygw } from '../servers/versitygw.ts'
import { describeStore } from './store.contract.ts'
import type { Gaps } from './store-backend.ts'
import { fileBackend, type RunningBackend, s3Backend } from './store-start.ts'

function contractOf(name: string, start: () => Promise<RunningBackend>, gaps: Gaps = {}): void {
  describe(name, () => {
    let backend: RunningBackend
    let missing: string | undefined
    beforeAll(async () => {
      try {
        backend = await start()
      } catch (error) {
        if (!(error instanceof ToolNotAvailable)) throw error
        missing = error.message
      }
    })
    beforeEach((context) => {
      if (missing !== undefined) context.skip(missing)
    })
    afterAll(async () => {
      await backend?.stop()
    })
    describeStore('store', () => backend, gaps)
  })
}

const notSorted = 'lists a folder before the names that sort before its slash'

contractOf('file://', fileBackend)
contractOf('s3:// on versitygw', async () => await s3Backend(await startVersitygw()))
contractOf('s3:// on SeaweedFS', async () => ({ ...(await s3Backend(await startSeaweedfs())), racesAtOnce: 25 }), {
  'come in the order of the UTF-8 bytes of the keys': notSorted,
  'start within a name': notSorted,
  'of large write-once streams have one winner': 'its conditional completion of uploads is not atomic',
})
