import { isFields } from '../http/body.ts'
import { faults, isFaultId } from './faults.ts'
import type { FaultParameters } from './hooks.ts'
import type { FaultSpec, FaultTrigger } from './triggers.ts'

const triggerNumbers = ['afterMs', 'forMs', 'nth', 'every', 'probability', 'promptShare', 'times'] as const

/** A fault that nobody could set. */
export class WrongFault extends Error {
  override readonly name = 'WrongFault'
}

/** Checks a fault that came as JSON. Throws `WrongFault`. */
export function readFault(value: unknown): FaultSpec {
  if (!isFields(value)) throw new WrongFault('A fault is an object such as {"fault":"F7","when":{"nth":3}}.')
  const { fault, when = {}, with: parameters = {} } = value
  if (!isFaultId(fault)) throw new WrongFault(`"fault" must be one of ${Object.keys(faults).join(', ')}.`)
  if (!isFields(when) || !isFields(parameters)) throw new WrongFault('"when" and "with" must be objects.')
  return { fault, when: readTrigger(when), with: readParameters(parameters) }
}

/**
 * Reads a fault as the command line has it: `F4:factor=3,afterMs=1000,forMs=5000`. Names of triggers are triggers, all others
 * are parameters.
 */
export function readFaultFlag(flag: string): FaultSpec {
  const [fault, ...rest] = flag.split(':')
  const when: Record<string, unknown> = {}
  const parameters: Record<string, unknown> = {}
  for (const setting of rest.join(':').split(',')) {
    if (setting === '') continue
    const [name = '', ...values] = setting.split('=')
    const text = values.join('=')
    const value = text !== '' && Number.isFinite(Number(text)) ? Number(text) : text
    if (name === 'marker') when.marker = text
    else if (triggerNumbers.some((known) => known === name)) when[name] = value
    else parameters[name] = value
  }
  return readFault({ fault, when, with: parameters })
}

function readTrigger(when: Record<string, unknown>): FaultTrigger {
  const trigger: FaultTrigger = {}
  for (const name of Object.keys(when)) {
    if (name === 'marker') continue
    if (!triggerNumbers.some((known) => known === name)) {
      throw new WrongFault(`A trigger has ${triggerNumbers.join(', ')} and marker; got "${name}".`)
    }
  }
  for (const name of triggerNumbers) {
    const value = when[name]
    if (value === undefined) continue
    if (typeof value !== 'number' || value < 0) throw new WrongFault(`"${name}" must be a number of 0 or more.`)
    trigger[name] = value
  }
  const { marker } = when
  if (marker !== undefined) {
    if (typeof marker !== 'string' || marker === '') throw new WrongFault('"marker" must be some text.')
    trigger.marker = marker
  }
  return trigger
}

function readParameters(parameters: Record<string, unknown>): FaultParameters {
  for (const [name, value] of Object.entries(parameters)) {
    if (!['number', 'string', 'boolean'].includes(typeof value))
      throw new WrongFault(`"${name}" must be a plain value.`)
  }
  return parameters as FaultParameters
}
