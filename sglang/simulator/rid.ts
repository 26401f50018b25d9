import { randomUUID } from 'node:crypto'

/** A request id of the server's own making. */
export const newRid = (): string => randomUUID().replaceAll('-', '')
