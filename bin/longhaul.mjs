#!/usr/bin/env node
// Sets a fresh clone up when needed, then hands over to the built command line.
import { setUp } from '../scripts/setup.mjs'

try {
  setUp()
} catch (error) {
  process.stderr.write(`longhaul: ${error.message}\n`)
  process.exit(3)
}
await import('../dist/cli/longhaul.js')
