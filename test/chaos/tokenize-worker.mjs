// A data worker that kills itself at a given moment of tokenize and merge. Takes what it needs as one JSON argument:
// { address, taskQueue, defaultStore, scratch, kill?: { call, key, when, nth } }
import { NativeConnection, Worker } from '@temporalio/worker'
import { createTokenizeActivities } from '../../dist/activities/tokenize/tokenize-activities.js'
import { createOpenStore } from '../../dist/store/open-store.js'

const { address, taskQueue, defaultStore, scratch, kill } = JSON.parse(process.argv[2])

const die = () => process.kill(process.pid, 'SIGKILL')
let seen = 0

/** A store whose calls are watched: before one is made, in the middle of a stream, or after it was carried out. */
function watched(store) {
  return new Proxy(store, {
    get(target, name) {
      const method = Reflect.get(target, name, target)
      if (typeof method !== 'function') return method
      // Lists are iterated and not awaited.
      if (name === 'list') return method.bind(target)
      return async (...args) => {
        const isMeant = kill?.call?.includes(name) && new RegExp(kill.key).test(args[0]) && ++seen === (kill.nth ?? 1)
        if (!isMeant) return await method.apply(target, args)
        if (kill.when === 'before') die()
        if (kill.when === 'during') args[1] = brokenOff(args[1])
        const result = await method.apply(target, args)
        if (kill.when === 'after') die()
        return result
      }
    },
  })
}

async function* brokenOff(body) {
  for await (const chunk of body) {
    yield chunk.subarray(0, Math.ceil(chunk.length / 2))
    if (chunk.length > 0) die()
  }
}

const open = createOpenStore()
const stores = new Map()
const openStore = (uri) => {
  const store = open(uri)
  if (!stores.has(store)) stores.set(store, watched(store))
  return stores.get(store)
}

const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  activities: createTokenizeActivities({
    openStore,
    defaultStore,
    scratch,
    threads: 2,
    sizes: { blockBytes: 20_000, spillBytes: 50_000, rangeRows: 100, sliceBytes: 20_000 },
    log: () => {},
  }),
  maxHeartbeatThrottleInterval: 200,
})
await worker.run()
