import { describe } from 'vitest'
import { startSeaweedfs } from '../servers/seaweedfs.ts'
import { startVersitygw } from '../servers/versitygw.ts'
import { describeStore } from './store.contract.ts'
import { startedForSuite } from './store-available.ts'
import type { Gaps } from './store-backend.ts'
import { fileBackend, type RunningBackend, s3Backend } from './store-start.ts'

function contractOf(name: string, start: () => Promise<RunningBackend>, gaps: Gaps = {}): void {
  describe(name, () => describeStore('store', startedForSuite(start), gaps))
}

const notSorted = 'lists a folder before the names that sort before its slash'

contractOf('file://', fileBackend)
contractOf('s3:// on versitygw', async () => await s3Backend(await startVersitygw()))
contractOf('s3:// on SeaweedFS', async () => ({ ...(await s3Backend(await startSeaweedfs())), racesAtOnce: 25 }), {
  'come in the order of the UTF-8 bytes of the keys': notSorted,
  'start within a name': notSorted,
  'of large write-once streams have one winner': 'its conditional completion of uploads is not atomic',
})
