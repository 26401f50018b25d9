import { describe, expect, it } from 'vitest'
import { readFaultFlag } from '../../../sglang/simulator/faults/fault-spec.ts'
import { readFlags, usage } from '../../../sglang/simulator/flags.ts'

describe('the command line of simulated engines', () => {
  it('becomes options', () => {
    const launch = readFlags(
      '--engines 8 --port 30000 --time-scale 0.01 --max-running 72 --mean-tokens 2712 --sigma 0.5 --health-ms 5 --metrics'.split(
        ' ',
      ),
    )
    expect(launch).toMatchObject({
      engines: 8,
      options: {
        port: 30_000,
        timeScale: 0.01,
        cap: 72,
        lengths: { meanTokens: 2_712, sigma: 0.5 },
        edge: { healthMs: 5 },
        metrics: true,
      },
    })
  })

  it('sets faults on all engines or on one', () => {
    const { faults } = readFlags(['--fault', 'F7:probability=0.01', '--fault', '2/F1:afterMs=100,loadMs=20']) ?? {}
    expect(faults).toEqual([
      { engine: undefined, spec: { fault: 'F7', when: { probability: 0.01 }, with: {} } },
      { engine: 2, spec: { fault: 'F1', when: { afterMs: 100 }, with: { loadMs: 20 } } },
    ])
    expect(readFaultFlag('F9:marker=a=b: c,share=0').when).toEqual({ marker: 'a=b: c' })
  })

  it('says what is wrong, and where', () => {
    for (const [args, message] of [
      [['--port', 'x'], /--port: must be a number/],
      [['--engines', '1.5'], /--engines: must be a whole number/],
      [['--compat', '1'], /--compat: must be one of 0\.5\.12/],
      [['--fault', 'F99'], /--fault: "fault" must be one of F1/],
      [['--fault', 'F7:nth=often'], /--fault: "nth" must be a number/],
      [['--what'], /Unknown option '--what'.*See --help/],
    ] as const) {
      expect(() => readFlags([...args])).toThrow(message)
    }
  })

  it('explains itself', () => {
    expect(readFlags(['--help'])).toBeUndefined()
    expect(usage).toContain('--time-scale S')
  })
})
