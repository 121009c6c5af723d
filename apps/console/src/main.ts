import { createInterface } from 'node:readline/promises'
import { describe } from '@troupe/flow'
import { KernelError, type Outcome, type Run, type ThreadRef } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { reconcile } from '@troupe/persistence'
import type { App } from './app.ts'
import { readConfig, USAGE } from './config.ts'
import { createApp } from './container.ts'
import { describeLostRun, lostRunOf } from './lost-run.ts'
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

/** Offers to go on with a run that broke off, asks the question, and prints both. */
async function ask(app: App, signal: AbortSignal): Promise<Outcome | undefined> {
  const { config, model, runner, store } = app
  const { thread, question } = config
  const session = thread === undefined ? undefined : { app: 'console', user: 'console', threadId: thread }
  const where = `(${model.name} model${thread === undefined ? '' : `, thread ${thread}`})`
  let outcome: Outcome | undefined = 'complete'
  if (session) {
    await reconcile({ store })
    outcome = await goOn(app, session, signal)
  }
  if (question !== undefined && outcome === 'complete') {
    process.stdout.write(`${question}\n${where}\n\n`)
    outcome = await show(app, runner.query(question, { signal, ...(session && { session }) }))
  }
  if (session) process.stdout.write(await threadSummary(app, session))
  return outcome
}

/** Goes on with the run of a conversation whose process died, if the user wants it. Contract: a run that is not continued is settled by the next question. */
async function goOn(app: App, session: ThreadRef, signal: AbortSignal): Promise<Outcome | undefined> {
  const { config, runner, store } = app
  const lost = await lostRunOf(store, session)
  if (!lost) {
    if (config.continues) process.stdout.write('No run of this conversation broke off.\n')
    return 'complete'
  }
  process.stdout.write(`${describeLostRun(lost)}\n`)
  if (!config.continues && !(await confirm('Continue it? (y/n) ', signal))) {
    return signal.aborted ? 'cancelled' : 'complete'
  }
  process.stdout.write('\n')
  // A process that died a moment ago holds the conversation until its lease has expired.
  return show(app, runner.continue(session, { busy: 'queue', again: true, signal }))
}

/** Asks the user. Contract: without a terminal the answer is no, and the text says what to do. */
async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    process.stdout.write('To go on with it, use --continue.\n\n')
    return false
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  // The terminal takes Ctrl-C for itself.
  terminal.once('SIGINT', () => process.emit('SIGINT'))
  try {
    return /^\s*y/i.test(await terminal.question(question, { signal }))
  } catch (error) {
    if (!signal.aborted) throw error
    return false
  } finally {
    terminal.close()
  }
}

/** Prints a whole run. */
async function show({ config: { color } }: App, run: Run): Promise<Outcome | undefined> {
  const print = printer(process.stdout, { color, clock: systemClock })
  let outcome: Outcome | undefined
  for await (const event of run.eventsWithoutThrowing()) {
    print(event)
    if (event.type === 'run-end' && event.parentCallId === undefined) outcome = event.outcome
  }
  // A run without an end was refused: awaiting it throws the error, which the transcript does not have.
  if (outcome === undefined) await run
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
