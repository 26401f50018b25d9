// Compiles to dist/ and bundles the workflows once: workers and replay all load this one bundle.
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode } from '@temporalio/worker'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')

rmSync(dist, { recursive: true, force: true })
const { status } = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.json')], {
  cwd: root,
  stdio: 'inherit',
})
if (status !== 0) process.exit(status ?? 1)

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn: console.error, error: console.error }
const { code } = await bundleWorkflowCode({
  workflowsPath: join(dist, 'workflows', 'index.js'),
  logger: quiet,
})
writeFileSync(join(dist, 'workflow-bundle.js'), code)
