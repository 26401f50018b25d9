import { Client, Connection } from '@temporalio/client'
import { loadClientConnectConfig } from '@temporalio/envconfig'
import { NativeConnection } from '@temporalio/worker'

/** Where Temporal is: `TEMPORAL_ADDRESS` and the like, or a profile of its configuration file, or else this machine. */
export function temporalConfig() {
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig()
  const { address = defaultAddress } = connectionOptions
  return { connectionOptions: { ...connectionOptions, address }, namespace, address }
}

/** Whether the environment or a profile says where Temporal is. */
export function isTemporalConfigured(): boolean {
  return loadClientConnectConfig().connectionOptions.address !== undefined
}

export const defaultAddress = '127.0.0.1:7233'

/** Temporal can't be reached; the message says where it was looked for and what to do. */
export class NoTemporal extends Error {
  override readonly name = 'NoTemporal'
  constructor(address: string, cause: unknown) {
    super(
      `No Temporal server answers at ${address}. Set TEMPORAL_ADDRESS, or start one with \`longhaul worker all\` or \`temporal server start-dev\`.`,
      { cause },
    )
  }
}

export async function connectClient(): Promise<Client> {
  const { connectionOptions, namespace, address } = temporalConfig()
  try {
    return new Client({
      connection: await Connection.connect({ ...connectionOptions, connectTimeout: 5_000 }),
      namespace,
    })
  } catch (error) {
    throw new NoTemporal(address, error)
  }
}

export async function connectWorker(): Promise<{ connection: NativeConnection; namespace: string }> {
  const { connectionOptions, namespace, address } = temporalConfig()
  try {
    return { connection: await NativeConnection.connect(connectionOptions), namespace }
  } catch (error) {
    throw new NoTemporal(address, error)
  }
}
