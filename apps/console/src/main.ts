import { describe } from '@troupe/flow'
import { KernelError, type Outcome, type ThreadRef } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { reconcile } from '@troupe/persistence'
import type { App } from './app.ts'
import { readConfig, USAGE } from './config.ts'
import { createApp } from './container.ts'
import { printAgents } from './print-agents.ts'
import { printer } from './printer.ts'

/** The exit code of a run that a person stopped. */
const STOPPED = 130

/** Does what the arguments ask for; returns the exit code. */
async function main(): Promise<number> {
  const config = readConfig(process.argv.slice(2), process.env, process.stdout.isTTY)
  if (config.help) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  const app = await createApp(config)
  if (config.agents) {
    process.stdout.write(printAgents(describe(app.cradle.agent)))
    return 0
  }
  const controller = new AbortController()
  const stop = () => controller.abort(new KernelError('ABORTED', 'demo: stopped'))
  process.once('SIGINT', stop)
  // The reader has left, as in `pnpm demo | head`.
  process.stdout.on('error', stop)
  try {
    const outcome = await ask(app.cradle, controller.signal)
    if (outcome === 'complete') return 0
    return outcome === 'cancelled' ? STOPPED : 1
  } finally {
    process.off('SIGINT', stop)
    await app.cradle.messages[Symbol.asyncDispose]()
    await app.dispose()
  }
}

/** Asks one question and prints the whole run. */
async function ask(app: App, signal: AbortSignal): Promise<Outcome | undefined> {
  const { config, model, runner, store } = app
  const { thread, question, color } = config
  const session = thread === undefined ? undefined : { app: 'console', user: 'console', threadId: thread }
  process.stdout.write(`${question}\n(${model.name} model${thread === undefined ? '' : `, thread ${thread}`})\n\n`)
  const print = printer(process.stdout, { color, clock: systemClock })
  if (session) await reconcile({ store })
  const run = runner.query(question, { signal, ...(session && { session }) })
  let outcome: Outcome | undefined
  for await (const event of run.eventsWithoutThrowing()) {
    print(event)
    if (event.type === 'run-end' && event.parentCallId === undefined) outcome = event.outcome
  }
  // A run without an end was refused: awaiting it throws the error, which the transcript does not have.
  if (outcome === undefined) await run
  if (session) process.stdout.write(await threadSummary(app, session))
  return outcome
}

/** Summarises the conversation from its records. */
async function threadSummary({ store, messages }: App, session: ThreadRef): Promise<string> {
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
