import { KernelError } from '@troupe/kernel'
import { startAssistant } from './assistant.ts'
import { readConfig } from './config.ts'
import { createApp } from './container.ts'
import { buildPage } from './server/build-page.ts'

const print = (text: string) => process.stdout.write(`${text}\n`)

/** Builds the page if necessary, serves it and prints its address; ends on SIGINT or SIGTERM. */
async function main(): Promise<void> {
  const config = readConfig(process.env)
  const app = await createApp(config, await buildPage(print))
  const assistant = await startAssistant(app)
  const stopped = new Promise<void>((resolve, reject) => {
    const stop = () => {
      process.off('SIGINT', stop).off('SIGTERM', stop)
      print('stopping…')
      assistant.stop(2_000).then(resolve, reject)
    }
    process.once('SIGINT', stop).once('SIGTERM', stop)
  })
  const database = config.database.type === 'sqlite' ? config.database.path : 'PostgreSQL'
  print(`\n  Troupe assistant   ${assistant.url}\n`)
  print(`  model ${app.cradle.model.name}, conversations in ${database}; Ctrl-C stops it`)
  await stopped
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${KernelError.from(error).message}\n`)
  process.exitCode = 2
}
