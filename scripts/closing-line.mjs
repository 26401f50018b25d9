/** Prints how many tests passed and failed as the last line of a run. */
export default class ClosingLine {
  onTestRunEnd(modules) {
    const counts = { passed: 0, failed: 0, skipped: 0 }
    for (const module of modules) {
      if (module.errors().length > 0) counts.failed += 1
      for (const test of module.children.allTests())
        counts[test.result().state] = (counts[test.result().state] ?? 0) + 1
    }
    process.on('exit', () => {
      process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
    })
  }
}
