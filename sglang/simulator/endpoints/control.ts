import type { Engine } from '../engine/engine.ts'
import { type Fields, isFields, parseBody } from '../http/body.ts'
import type { Call } from '../http/call.ts'
import { bareText, empty, json, nativeFailure, type Reply } from '../http/reply.ts'

/** `/abort_request`: says nothing of whether there was such a request. */
export const abortRequest = withFields((engine, { rid, abort_all }) => {
  if (abort_all === true) engine.abort('')
  else if (typeof rid === 'string') engine.abort(rid)
  return empty()
})

/** `/flush_cache`: refuses while there is work, with the words that it also uses for success. */
export function flushCache(engine: Engine): Reply {
  const isIdle = engine.scheduler.isIdle
  if (isIdle) engine.cache.clear()
  return bareText(
    'Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, the operation will not be performed.)\n',
    isIdle ? 200 : 400,
  )
}

/** `/pause_generation`: what arrives from now on waits, without an error. */
export const pauseGeneration = withFields((engine, { mode }) => {
  if (mode === 'retract') engine.clock.retract(engine.scheduler.running.length)
  else if (mode !== 'in_place') {
    engine.abort('')
    engine.clock.finishStep()
  }
  engine.pause()
  return json({ message: 'Generation paused successfully.', status: 'ok' })
})

/** `/continue_generation`. */
export const continueGeneration = withFields((engine) => {
  engine.resume()
  return json({ message: 'Generation continued successfully.', status: 'ok' })
})

/** `/slow_down`: SGLang's own way to make each forward pass longer. */
export const slowDown = withFields((engine, { forward_sleep_time }) => {
  engine.setSpeed({ sleepMs: typeof forward_sleep_time === 'number' ? forward_sleep_time * 1000 : 0 })
  return empty()
})

/** `/freeze_gc`: there is nothing to freeze. */
export const freezeGc = (): Reply => bareText('Garbage collection frozen.\n')

function withFields(handle: (engine: Engine, fields: Fields) => Reply) {
  return (engine: Engine, call: Call): Reply => {
    try {
      const fields = call.body.length === 0 ? {} : parseBody(call.body)
      return handle(engine, isFields(fields) ? fields : {})
    } catch (error) {
      return nativeFailure(error)
    }
  }
}
