import { readConfig, USAGE } from './config.ts'
import { createApp } from './container.ts'
import { Conversation } from './conversation.ts'
import { openTerminal } from './terminal.ts'

/** Does what the arguments ask for. Gives the exit code. */
async function main(): Promise<number> {
  const config = readConfig(process.argv.slice(2), process.env)
  if (!config) {
    console.log(USAGE)
    return 0
  }
  const { user, thread, question } = config
  const stopped = new AbortController()
  const stop = () => stopped.abort(new Error('stopped by the user'))
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const app = createApp(config)
  try {
    const { runner, store, model } = app.cradle
    using terminal = openTerminal(stopped.signal)
    const session = { app: 'team', user, threadId: thread }
    const conversation = new Conversation({ runner, store, session, terminal, signal: stopped.signal })
    await conversation.goOn()
    if (question !== undefined) return (await conversation.say(question)) || stopped.signal.aborted ? 0 : 1
    terminal.print(`The ${model.name} model answers. Ctrl-D ends the conversation.\n`)
    for (let text = await terminal.ask('> '); text !== undefined; text = await terminal.ask('> ')) {
      if (text.trim() !== '') await conversation.say(text)
    }
    terminal.print('\n')
    return 0
  } finally {
    // Runs have ended by now, so the store can be closed.
    await app.dispose()
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
