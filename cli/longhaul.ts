import { Command } from '@commander-js/extra-typings'
import { datasetCommand } from './dataset.ts'
import { demoCommand } from './demo.ts'
import { runCommand } from './exit.ts'
import { failuresCommand } from './failures.ts'
import { planCommand } from './plan.ts'
import { retryCommand } from './retry.ts'
import { startCommand } from './start.ts'
import { statusCommand } from './status.ts'
import { tokensCommand } from './tokens.ts'
import { verifyCommand } from './verify.ts'
import { workerCommand } from './worker.ts'

const program = new Command('longhaul')
  .description('Durable generation of training data with self-hosted LLMs, on Temporal.')
  .showHelpAfterError('Run it with --help to see what it takes.')
  .addCommand(demoCommand())
  .addCommand(planCommand())
  .addCommand(startCommand())
  .addCommand(statusCommand())
  .addCommand(failuresCommand())
  .addCommand(retryCommand())
  .addCommand(verifyCommand())
  .addCommand(datasetCommand())
  .addCommand(tokensCommand())
  .addCommand(workerCommand())

await runCommand(program, process.argv)
