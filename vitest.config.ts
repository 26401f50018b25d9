import { defineConfig } from 'vitest/config'

/** Each folder of test/ is a project, so that `npm test -- --project unit` runs one kind of test alone. */
const project = (name: string, overrides: object = {}) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout: 60_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 30_000, interval: 20 } },
    ...overrides,
  },
})

export default defineConfig({
  test: {
    projects: [
      project('unit'),
      project('contract'),
      project('workflow'),
      project('replay'),
      // They start many processes each and would only slow one another down on a small machine.
      project('chaos', { fileParallelism: false, testTimeout: 600_000 }),
      project('e2e', { fileParallelism: false, testTimeout: 600_000 }),
    ],
  },
})
