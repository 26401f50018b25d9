import { Invalid } from '../engine/errors.ts'
import { readFault, WrongFault } from '../faults/fault-spec.ts'
import type { FaultRegistry } from '../faults/registry.ts'
import { parseBody } from './body.ts'
import type { Call } from './call.ts'
import { json, type Reply } from './reply.ts'

/** `/_sim/fault`: POST sets a fault, GET lists them, DELETE removes one (`?id=`) or all. No real server has it. */
export function admin(faults: FaultRegistry, call: Call): Reply {
  if (call.path !== '/_sim/fault') return json({ detail: 'Not Found' }, 404)
  switch (call.method) {
    case 'GET':
      return json({ faults: faults.list() })
    case 'POST':
      return set(faults, call)
    case 'DELETE': {
      const id = new URLSearchParams(call.query).get('id')
      return json({ removed: faults.remove(id === null ? undefined : Number(id)) })
    }
    default:
      return json({ detail: 'Method Not Allowed' }, 405)
  }
}

function set(faults: FaultRegistry, call: Call): Reply {
  try {
    return json({ id: faults.set(readFault(parseBody(call.body))) })
  } catch (error) {
    if (error instanceof WrongFault || error instanceof Invalid) return json({ error: { message: error.message } }, 400)
    throw error
  }
}
