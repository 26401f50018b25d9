import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedTool, goInstall } from './cached-tools.ts'
import { S3Server, testCredentials, testRegion } from './s3-server.ts'

const version = '1.8.0'

/** A server that honours conditional writes in every race. Throws `ToolNotAvailable` where there is no Go. */
export async function startVersitygw(): Promise<S3Server> {
  const program = await cachedTool({
    name: `versitygw ${version}`,
    folder: join('bin', `versitygw-${version}`),
    program: 'versitygw',
    install: (draft) => goInstall(draft, `github.com/versity/versitygw/cmd/versitygw@v${version}`),
  })
  return await S3Server.start({
    name: 'versitygw',
    program,
    ports: 1,
    prepare: async (folder) => {
      await mkdir(join(folder, 'root'))
      await mkdir(join(folder, 'versions'))
    },
    args: (folder, [port]) => [
      ...['--port', `127.0.0.1:${port}`, '--region', testRegion, '--quiet'],
      ...['posix', '--versioning-dir', join(folder, 'versions'), join(folder, 'root')],
    ],
    env: { ROOT_ACCESS_KEY: testCredentials.accessKeyId, ROOT_SECRET_KEY: testCredentials.secretAccessKey },
  })
}
