import { describe } from '@troupe/flow'
import { KernelError, type Outcome, type ThreadRef } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { reconcile } from '@troupe/persistence'
import type { App } from './app.ts'
import { readConfig, USAGE } from './config.ts'
import { createApp } from './container.ts'
import { printer } from './print.ts'
import { printAgents } from './print-agents.ts'

/** Asks one question and prints the whole run; gives the exit code. */
async function main(): Promise<number> {
  const config = readConfig(process.argv.slice(2), process.env, process.stdout.isTTY)
  if (config.help) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  const app = await createApp(config)
  const { agent, runner, model } = app.cradle
  if (config.agents) {
    process.stdout.write(printAgents(describe(agent)))
    return 0
  }
  const controller = new AbortController()
  const stop = () => controller.abort(new KernelError('ABORTED', 'demo: stopped'))
  process.once('SIGINT', stop)
  // The reader has gone: `pnpm demo | head`.
  process.stdout.on('error', stop)
  const { thread, question } = config
  const session = thread === undefined ? undefined : { app: 'console', user: 'console', threadId: thread }
  process.stdout.write(`${question}\n(${model.name} model${thread === undefined ? '' : `, thread ${thread}`})\n\n`)
  const print = printer(process.stdout, { color: config.color, clock: systemClock })
  let outcome: Outcome | undefined
  try {
    if (session) await reconcile({ store: app.cradle.store })
    const run = runner.query(question, { signal: controller.signal, ...(session && { session }) })
    for await (const event of run.eventsWithoutThrowing()) {
      print(event)
      if (event.type === 'run-end' && event.parentCallId === undefined) outcome = event.outcome
    }
    // A run that came to its end has told its error in the transcript.
    if (outcome === undefined) await run
    if (session) process.stdout.write(await threadSoFar(app.cradle, session))
  } finally {
    process.off('SIGINT', stop)
    await app.cradle.messages[Symbol.asyncDispose]()
    await app.dispose()
  }
  return outcome === 'complete' ? 0 : outcome === 'cancelled' ? 130 : 1
}

/** What the conversation has come to, from its records. */
async function threadSoFar({ store, messages }: App, session: ThreadRef): Promise<string> {
  await messages.flush(session)
  const { inputTokens, outputTokens } = await store.records.usage(session)
  const [last] = await store.records.runs(session, { newestFirst: true, limit: 1 })
  const runs = last?.seq === 1 ? '1 run' : `${last?.seq ?? 0} runs`
  return `thread ${session.threadId} · ${runs} · ${inputTokens} tokens in, ${outputTokens} out\n`
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`${KernelError.from(error).message}\n`)
  process.exitCode = 2
}
