import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import type { Retry, RetryPolicy } from './retry.ts'

const mebibyte = 1024 * 1024

/** How to reach an S3 server and how to treat it. Everything has a default that suits AWS. */
export interface S3Options {
  /** Left out: AWS, by region. For example `http://127.0.0.1:7070` or `https://<account>.r2.cloudflarestorage.com`. */
  readonly endpoint?: string
  /** Left out: `us-east-1` with an `endpoint`, else what the AWS configuration says. R2 wants `auto`. */
  readonly region?: string
  /** Left out: the SDK's default chain (environment, files, container and instance roles). */
  readonly credentials?: S3ClientConfig['credentials']
  /** Bucket in the path instead of the host name. Left out: when there is an `endpoint`. */
  readonly forcePathStyle?: boolean
  /**
   * `sha256` (default): objects carry a SHA-256 that the server checks and keeps. `crc32`: the SDK's default checksum.
   * `when-required`: none unless the operation demands it, for GCS and older servers.
   */
  readonly checksums?: 'sha256' | 'crc32' | 'when-required'
  readonly encryption?: S3Encryption
  /** Tags of every object written, for lifecycle rules and cost reports. Not all servers know tags. */
  readonly tags?: Readonly<Record<string, string>>

  /** Milliseconds to open a connection. Default 5,000. */
  readonly connectionTimeoutMs?: number
  /** Milliseconds without any byte on a connection after which it counts as broken. Default 60,000. */
  readonly idleTimeoutMs?: number
  /** Connections at once. Default 64. */
  readonly maxSockets?: number
  /** Attempts of the SDK itself within each attempt that is counted here. Default 5. */
  readonly attemptsPerCall?: number

  /** Milliseconds that a call goes on against a server that is down. Default two hours. */
  readonly outageBudgetMs?: number
  /** Longest wait before the first retry in milliseconds; doubles with each one. Default 500. */
  readonly firstDelayMs?: number
  /** Longest wait between retries in milliseconds. Default 30,000. */
  readonly longestDelayMs?: number
  readonly onRetry?: (retry: Retry) => void

  /**
   * Size of the parts of a streamed upload. Default 16 MiB. S3 allows 10,000 parts, which is 156 GiB at that size; all but
   * the last are of one size, as R2 demands.
   */
  readonly partBytes?: number
  /** Parts on their way at once; memory of an upload is one part more than this. Default 4. */
  readonly partsInFlight?: number
  /**
   * Above this, a copy is done in parts. Default 1 GiB: S3 would take 5 GiB in one request, but a server that says nothing
   * while it copies that much runs into the idle timeout.
   */
  readonly copyThresholdBytes?: number
}

export type S3Encryption =
  | { readonly kind: 'AES256' }
  | { readonly kind: 'aws:kms' | 'aws:kms:dsse'; readonly keyId?: string; readonly useBucketKey?: boolean }

/** `S3Options` with every default filled in. */
export interface ResolvedS3Options {
  readonly endpoint: string | undefined
  readonly region: string | undefined
  readonly credentials: S3ClientConfig['credentials']
  readonly forcePathStyle: boolean
  readonly checksums: 'sha256' | 'crc32' | 'when-required'
  readonly encryption: S3Encryption | undefined
  readonly tags: Readonly<Record<string, string>>
  readonly connectionTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly maxSockets: number
  readonly attemptsPerCall: number
  readonly retry: RetryPolicy
  readonly partBytes: number
  readonly partsInFlight: number
  readonly copyThresholdBytes: number
}

/** The least that S3 allows for all parts but the last. */
const smallestPartBytes = 5 * mebibyte

export function resolveS3Options(options: S3Options = {}): ResolvedS3Options {
  const partBytes = options.partBytes ?? 16 * mebibyte
  if (partBytes < smallestPartBytes) {
    throw new RangeError(
      `Parts of ${partBytes} bytes are too small: S3 takes no part below ${smallestPartBytes} bytes.`,
    )
  }
  return {
    endpoint: options.endpoint,
    region: options.region ?? (options.endpoint === undefined ? undefined : 'us-east-1'),
    credentials: options.credentials,
    forcePathStyle: options.forcePathStyle ?? options.endpoint !== undefined,
    checksums: options.checksums ?? 'sha256',
    encryption: options.encryption,
    tags: options.tags ?? {},
    connectionTimeoutMs: options.connectionTimeoutMs ?? 5_000,
    idleTimeoutMs: options.idleTimeoutMs ?? 60_000,
    maxSockets: options.maxSockets ?? 64,
    attemptsPerCall: options.attemptsPerCall ?? 5,
    retry: {
      outageBudgetMs: options.outageBudgetMs ?? 2 * 60 * 60 * 1000,
      firstDelayMs: options.firstDelayMs ?? 500,
      longestDelayMs: options.longestDelayMs ?? 30_000,
      onRetry: options.onRetry ?? (() => {}),
    },
    partBytes,
    partsInFlight: options.partsInFlight ?? 4,
    copyThresholdBytes: options.copyThresholdBytes ?? 1024 * mebibyte,
  }
}

export function createS3Client(options: ResolvedS3Options): S3Client {
  const checksumMode = options.checksums === 'when-required' ? 'WHEN_REQUIRED' : 'WHEN_SUPPORTED'
  return new S3Client({
    ...(options.endpoint !== undefined && { endpoint: options.endpoint }),
    ...(options.region !== undefined && { region: options.region }),
    ...(options.credentials !== undefined && { credentials: options.credentials }),
    forcePathStyle: options.forcePathStyle,
    maxAttempts: options.attemptsPerCall,
    retryMode: 'standard',
    // A bucket of AWS says itself which region it is in.
    followRegionRedirects: options.endpoint === undefined,
    // Chunks under 8 KiB are refused by servers that check chunked signatures.
    requestStreamBufferSize: 64 * 1024,
    requestChecksumCalculation: checksumMode,
    responseChecksumValidation: checksumMode,
    requestHandler: {
      connectionTimeout: options.connectionTimeoutMs,
      // The idle timeout. `requestTimeout` would only print a warning.
      socketTimeout: options.idleTimeoutMs,
      httpAgent: { maxSockets: options.maxSockets },
      httpsAgent: { maxSockets: options.maxSockets },
    },
  })
}
