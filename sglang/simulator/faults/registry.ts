import { isFields, parseBody } from '../http/body.ts'
import type { Call } from '../http/call.ts'
import { hashOf } from '../scheduling/random.ts'
import type { SimTokenizer } from '../text/tokenizer.ts'
import { type FaultId, faults } from './faults.ts'
import type { FaultRow, RequestHooks } from './hooks.ts'
import type { EngineHost } from './host.ts'
import { type FaultSpec, type FaultTrigger, TriggerState } from './triggers.ts'

/** Endpoints that generate: requests are counted there, and faults of requests happen there. */
const generating = new Set(['/generate', '/v1/chat/completions', '/v1/completions'])
/** Faults that any endpoint shows. */
const everywhere = new Set<FaultId>(['F13', 'F26'])
/** Endpoints that no key guards. */
const unguarded = /^\/(health|metrics)/

interface SetFault {
  id: number
  spec: FaultSpec
  row: FaultRow
  trigger: TriggerState
  timers: NodeJS.Timeout[]
  undo: (() => void) | undefined
}

/** A fault that is set, as the admin endpoint lists it. */
export interface FaultStatus {
  id: number
  fault: FaultId
  name: string
  when: FaultTrigger
  fired: number
}

/** The faults that are set on one engine. */
export class FaultRegistry {
  #faults: SetFault[] = []
  #nextId = 1

  constructor(
    readonly host: EngineHost,
    readonly seed: number,
    readonly tokenizer: SimTokenizer,
  ) {}

  /** Sets a fault; gives the id to remove it by. */
  set(spec: FaultSpec): number {
    const id = this.#nextId++
    const row: FaultRow = faults[spec.fault]
    const fault: SetFault = {
      id,
      spec,
      row,
      trigger: new TriggerState(spec.when ?? {}, this.seed + id, saltOf(spec.fault, this.seed)),
      timers: [],
      undo: undefined,
    }
    this.#faults.push(fault)
    if (row.engine && !fault.trigger.waitsForRequest) this.#beginLater(fault)
    return id
  }

  /** Undoes and forgets one fault, or all. Says whether there was any. */
  remove(id?: number): boolean {
    const removed = this.#faults.filter((fault) => id === undefined || fault.id === id)
    this.#faults = this.#faults.filter((fault) => !removed.includes(fault))
    for (const fault of removed) this.#end(fault)
    return removed.length > 0
  }

  list(): FaultStatus[] {
    return this.#faults.map(({ id, spec, row, trigger }) => ({
      id,
      fault: spec.fault,
      name: row.name,
      when: spec.when ?? {},
      fired: trigger.fired,
    }))
  }

  /** What goes wrong with a call, all faults that it sets off taken together. */
  hooksFor(call: Call): RequestHooks {
    if (this.#faults.length === 0) return noHooks
    const isGenerating = generating.has(call.path)
    const text = () => this.#promptText(call)
    let hooks: RequestHooks = noHooks
    for (const fault of this.#faults) {
      const { spec, row, trigger } = fault
      const isConcerned = isGenerating || (everywhere.has(spec.fault) && !unguarded.test(call.path))
      if (!isConcerned || (row.engine && !trigger.waitsForRequest)) continue
      if (spec.fault === 'F13' && !call.isReused) continue
      if (!trigger.fires(text)) continue
      const parameters = { ...row.parameters, ...spec.with }
      if (row.request) hooks = { ...hooks, ...row.request(parameters, this.host) }
      else this.#begin(fault)
    }
    return hooks
  }

  #beginLater(fault: SetFault): void {
    const { afterMs = 0 } = fault.trigger.trigger
    const begin = () => {
      fault.trigger.fired++
      this.#begin(fault)
    }
    if (afterMs === 0) begin()
    else fault.timers.push(setTimeout(begin, afterMs))
  }

  #begin(fault: SetFault): void {
    fault.undo?.()
    fault.undo = fault.row.engine?.({ ...fault.row.parameters, ...fault.spec.with }, this.host)
    const { forMs } = fault.trigger.trigger
    if (forMs !== undefined) fault.timers.push(setTimeout(() => this.#undo(fault), forMs))
  }

  #end(fault: SetFault): void {
    for (const timer of fault.timers) clearTimeout(timer)
    this.#undo(fault)
  }

  #undo(fault: SetFault): void {
    fault.undo?.()
    fault.undo = undefined
  }

  /** Whatever a client may have written its prompt as, put together as text. */
  #promptText(call: Call): string {
    try {
      const fields = parseBody(call.body)
      if (!isFields(fields)) return ''
      const { text, prompt, messages, input_ids } = fields
      const parts = [...leavesOf(text), ...leavesOf(prompt), ...leavesOf(messages), ...leavesOf(input_ids)]
      const ids = parts.filter((part): part is number => typeof part === 'number')
      return [...parts.filter((part) => typeof part === 'string'), this.tokenizer.decode(ids)].join('\n')
    } catch {
      return ''
    }
  }
}

/** The same on every engine, whatever faults were set there before; faults choose their prompts apart from each other. */
const saltOf = (fault: FaultId, seed: number) => hashOf(Buffer.from(fault), seed)

/** The plain values within a JSON value. */
function leavesOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(leavesOf)
  return isFields(value) ? Object.values(value).flatMap(leavesOf) : [value]
}

const noHooks: RequestHooks = {}
