import { spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const biome = join(dirname(createRequire(import.meta.url).resolve('@biomejs/biome/package.json')), 'bin', 'biome')

const violations: [file: string, code: string, rule: string][] = [
  ['workflows/node.ts', "import fs from 'node:fs'\nexport const x = fs", 'lint/correctness/noNodejsModules'],
  ['workflows/value.ts', "import { make } from '../activities/make.ts'\nexport const x = make", 'plugin'],
  [
    'workflows/store.ts',
    "import { publish } from '../store/publish.ts'\nexport const x = publish",
    'lint/style/noRestrictedImports',
  ],
  [
    'workflows/floating.ts',
    'async function f() {}\nexport function x() {\n  f()\n}',
    'lint/nursery/noFloatingPromises',
  ],
  [
    'domain/store.ts',
    "import { publish } from '../store/publish.ts'\nexport const x = publish",
    'lint/style/noRestrictedImports',
  ],
  [
    'store/up.ts',
    "import { upload } from '../activities/upload.ts'\nexport const x = upload",
    'lint/style/noRestrictedImports',
  ],
  [
    'sglang/up.ts',
    "import { generate } from '../workflows/generate.ts'\nexport const x = generate",
    'lint/style/noRestrictedImports',
  ],
  [
    'activities/up.ts',
    "import { run } from '../workers/run.ts'\nexport const x = run",
    'lint/style/noRestrictedImports',
  ],
  ['activities/env.ts', 'export const x = process.env.HOME', 'lint/style/noProcessEnv'],
]
const allowed = "import type { Make } from '../activities/make.ts'\n\nexport type X = Make\n"

let folder: string
let report: { category: string; location: { path: string | { file: string } } }[]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-lint-'))
  const config = JSON.parse(await readFile(join(root, 'biome.json'), 'utf8'))
  await writeFile(
    join(folder, 'biome.json'),
    JSON.stringify({ ...config, $schema: undefined, vcs: { enabled: false } }),
  )
  await cp(join(root, 'scripts', 'lint'), join(folder, 'scripts', 'lint'), { recursive: true })
  for (const [file, code] of [...violations, ['workflows/types.ts', allowed] as const]) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), code)
  }
  const { stdout } = spawnSync(process.execPath, [biome, 'lint', '--reporter=json', '.'], {
    cwd: folder,
    encoding: 'utf8',
  })
  report = JSON.parse(stdout).diagnostics
})
afterAll(() => rm(folder, { recursive: true }))

const rulesBroken = (file: string) =>
  report
    .filter(({ location: { path } }) => (typeof path === 'string' ? path : path.file).endsWith(file))
    .map(({ category }) => category)

it.each(violations)('%s: the linter refuses %j', (file, _, rule) => {
  expect(rulesBroken(file)).toContain(rule)
})

it('the linter lets types of activities into workflows', () => {
  expect(rulesBroken('workflows/types.ts')).toEqual([])
})
