import { KernelError, systemClock } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { readConfig, USAGE } from './config.ts'
import { createApp } from './container.ts'
import { printer } from './print.ts'

/** Asks one question and prints the whole run; gives the exit code. */
async function main(): Promise<number> {
  const config = readConfig(process.argv.slice(2), process.env, process.stdout.isTTY)
  if (config.help) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  const app = createApp(config)
  const { agent, model } = app.cradle
  const controller = new AbortController()
  const stop = () => controller.abort(new KernelError('ABORTED', 'demo: stopped by Ctrl-C'))
  process.once('SIGINT', stop)
  process.stdout.write(`${config.question}\n(${model.name} model)\n\n`)
  const print = printer(process.stdout, { color: config.color, clock: systemClock })
  let outcome = 'failed'
  const messages = [{ id: 'question', role: 'user', content: config.question }] as const
  for await (const event of startRun(agent, { messages }, { signal: controller.signal })) {
    print(event)
    if (event.type === 'run-end') outcome = event.outcome
  }
  process.off('SIGINT', stop)
  await app.dispose()
  return outcome === 'complete' ? 0 : outcome === 'cancelled' ? 130 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`${KernelError.from(error).message}\n`)
  process.exitCode = 2
}
