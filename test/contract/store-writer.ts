/**
 * A process that writes to a file store, for tests that need real processes to race and to kill. Takes the store's folder
 * and a name as arguments and its orders as messages.
 */
import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { PreconditionFailed } from '../../store/errors.ts'
import { lockFile } from '../../store/file-lock.ts'
import { FileStore } from '../../store/file-store.ts'
import type { PutOptions } from '../../store/store.ts'

export type Order =
  | { do: 'put'; key: string; content: string; onlyIf?: PutOptions['onlyIf'] }
  /** Writes for ever: new objects, replaced ones, streams and a counter, each acknowledged. */
  | { do: 'write' }
  /** Takes the lock at a path and keeps it. */
  | { do: 'hold'; path: string }

export type Report =
  | { put: 'won' | 'lost' }
  | { acknowledged: 'once' | 'replaced' | 'streamed'; key: string; sha256: string; turn: number }
  | { acknowledged: 'counted' }
  | { held: string }
  | { failed: string }

const [, , root = '', name = ''] = process.argv
const store = new FileStore(root)
const report = (message: Report) => process.send?.(message)

process.on('message', (order: Order) => {
  carryOut(order).catch((error) => report({ failed: String(error.stack) }))
})
// Whoever started it is gone.
process.on('disconnect', () => process.exit())

async function carryOut(order: Order): Promise<void> {
  if (order.do === 'put') {
    report({ put: await hasWon(() => store.put(order.key, order.content, { onlyIf: order.onlyIf })) })
  } else if (order.do === 'hold') {
    await mkdir(dirname(order.path), { recursive: true })
    await lockFile(order.path)
    report({ held: order.path })
  } else {
    for (let turn = 0; ; turn++) {
      await putOnce(turn)
      await replace(turn)
      await stream(turn)
      await count()
    }
  }
}

async function hasWon(put: () => Promise<unknown>): Promise<'won' | 'lost'> {
  try {
    await put()
    return 'won'
  } catch (error) {
    if (error instanceof PreconditionFailed) return 'lost'
    throw error
  }
}

async function putOnce(turn: number): Promise<void> {
  const { content, sha256 } = selfVerifying(turn, 200)
  const key = `once/${name}/${turn}`
  await store.put(key, content, { onlyIf: 'absent' })
  report({ acknowledged: 'once', key, sha256, turn })
}

async function replace(turn: number): Promise<void> {
  const { content, sha256 } = selfVerifying(turn, 5_000)
  const key = `replaced/${name}`
  await store.put(key, content)
  report({ acknowledged: 'replaced', key, sha256, turn })
}

async function stream(turn: number): Promise<void> {
  const { content, sha256 } = selfVerifying(turn, 300_000)
  const key = `streamed/${name}/${turn % 3}`
  await store.putStream(
    key,
    (async function* () {
      const bytes = Buffer.from(content)
      for (let start = 0; start < bytes.length; start += 50_000) yield bytes.subarray(start, start + 50_000)
    })(),
  )
  report({ acknowledged: 'streamed', key, sha256, turn })
}

async function count(): Promise<void> {
  for (;;) {
    const { body, etag } = await store.get('counter')
    let text = ''
    for await (const chunk of body) text += Buffer.from(chunk).toString()
    if ((await hasWon(() => store.put('counter', `${Number(text) + 1}`, { onlyIf: { etag } }))) === 'won') break
  }
  report({ acknowledged: 'counted' })
}

/** Turn, hash and filling, so that half an object or a mixture of two gives itself away. */
function selfVerifying(turn: number, bytes: number): { content: string; sha256: string } {
  const filling = `${name} ${turn} `.repeat(bytes).slice(0, bytes)
  const sha256 = createHash('sha256').update(filling).digest('hex')
  return { content: `${turn}\n${sha256}\n${filling}`, sha256 }
}
