import { createRequire } from 'node:module'
import { expect, it } from 'vitest'

const require = createRequire(import.meta.url)

it('there is one protobufjs for all of Temporal, of version 8: with two, no history can be read from JSON', () => {
  const versions = ['@temporalio/common', '@temporalio/proto', '@temporalio/worker', '@temporalio/client'].map(
    (name) => {
      const fromPackage = createRequire(require.resolve(`${name}/package.json`))
      return fromPackage.resolve('protobufjs/package.json')
    },
  )
  expect(new Set(versions).size).toBe(1)
  expect(require('protobufjs/package.json').version).toMatch(/^8\./)
})
