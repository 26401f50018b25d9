import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { faults } from '../../../sglang/simulator/faults/faults.ts'
import type { FaultRow } from '../../../sglang/simulator/faults/hooks.ts'

/** Columns of a table are padded to the same width. */
const withoutPadding = (text: string) => text.replace(/ +/g, ' ')
const documentation = withoutPadding(readFileSync(new URL('../../../docs/simulator.md', import.meta.url), 'utf8'))

it('docs/simulator.md describes every fault as the catalogue does', () => {
  for (const [id, { name, effect, parameters }] of Object.entries<FaultRow>(faults)) {
    const settings = Object.entries(parameters).map(([key, value]) => `\`${key}\` ${value}`)
    const row = `| ${id} | ${name} | ${effect} | ${settings.join(', ')} |`
    expect(documentation).toContain(withoutPadding(row))
  }
})
