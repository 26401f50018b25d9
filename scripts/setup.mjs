// Brings a fresh clone to a state in which the commands run: dependencies installed, code built.
// Plain Node and no dependencies, since it runs before there are any. Does nothing when all is up to date.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const stampFolder = join(root, '.longhaul')
const sourceFolders = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')).include

/** Installs and builds what is missing or out of date. Throws with a readable message when that fails. */
export function setUp() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 3)) {
    throw new Error(`Longhaul needs Node 20.3 or newer; this is ${process.version}.`)
  }
  step('dependencies', hashOf([join(root, 'package-lock.json')]), 'node_modules', () =>
    run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']),
  )
  step('build', hashOf(sourceFiles()), 'dist', () => run(process.execPath, [join(root, 'scripts', 'build.mjs')]))
}

/** Runs `work` unless the same input was already worked on with success and its output is still there. */
function step(name, inputHash, output, work) {
  const stamp = join(stampFolder, `${name}.sha256`)
  const isUpToDate = existsSync(join(root, output)) && existsSync(stamp) && readFileSync(stamp, 'utf8') === inputHash
  if (isUpToDate) return
  process.stderr.write(`longhaul: ${name} …\n`)
  work()
  mkdirSync(stampFolder, { recursive: true })
  writeFileSync(stamp, inputHash)
}

function sourceFiles() {
  const files = ['package-lock.json', 'tsconfig.json', 'scripts/build.mjs'].map((file) => join(root, file))
  for (const folder of sourceFolders) {
    if (!existsSync(join(root, folder))) continue
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) files.push(join(entry.parentPath ?? entry.path, entry.name))
    }
  }
  return files.sort()
}

function hashOf(files) {
  const hash = createHash('sha256')
  for (const file of files) hash.update(file.slice(root.length)).update('\0').update(readFileSync(file)).update('\0')
  return hash.digest('hex')
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error(`\`${command} ${args.join(' ')}\` failed${error ? `: ${error.message}` : ''}.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    setUp()
  } catch (error) {
    process.stderr.write(`longhaul: ${error.message}\n`)
    process.exit(1)
  }
}
