/** A process whose runs spend the budget of one owner: `node spender.fixture.ts <store> <place> <schema>`; prints what each run has used. */
import { chatModelAgent } from '@troupe/chat-model'
import { budget } from '@troupe/handlers'
import { type ChatModel, defineTool, type FullStore, KernelError } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { postgresStore } from '@troupe/store-postgres'
import { sqliteStore } from '@troupe/store-sqlite'

/** The tokens of the budget, and those of each call. */
export const LIMIT = 1_000
export const PER_CALL = 10
export const PROCESSES = 2
export const RUNS = 4

/** Calls its tool as long as it may. */
const spenderModel = (store: Pick<FullStore, 'counters'>): ChatModel => ({
  name: 'spender',
  async *stream({ step }) {
    if (step === 'model:0') await allArrived(store)
    await new Promise((resolve) => setImmediate(resolve))
    yield { type: 'tool-call-start', callId: step, name: 'look' }
    yield { type: 'tool-call-end', callId: step }
    yield { type: 'finish', reason: 'tool-calls', usage: { inputTokens: PER_CALL - 1, outputTokens: 1 } }
  },
})

const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, invoke: () => 'seen' })

/** Runs until the budget is spent; gives how many calls it has made. */
async function spend(
  store: Pick<FullStore, 'counters'>,
  threadId: string,
): Promise<{ readonly calls: number; readonly code: string }> {
  const limits = [{ per: 'owner', tokens: LIMIT, windowMs: 86_400_000 }] as const
  const agent = chatModelAgent({
    name: 'spender',
    model: spenderModel(store),
    tools: [look],
    handlers: [budget({ store, limits })],
    maxIterations: 1_000,
  })
  const session = { app: 'test', user: 'ann', threadId }
  let calls = 0
  let code = ''
  for await (const event of startRun(agent, 'Go.', { session }).eventsWithoutThrowing()) {
    if (event.type === 'message-end' && event.usage) calls++
    if (event.type === 'error') code = event.error.code
  }
  return { calls, code }
}

/** Waits until all runs are in their first call, so that none has spent everything before another one begins. */
async function allArrived({ counters }: Pick<FullStore, 'counters'>): Promise<void> {
  const owner = { app: 'test', user: 'arrivals' }
  const arrive = (by: number) => counters.add(owner, [{ name: 'runs', by, expiresAt: 1e15 }])
  for (let [there = 0] = await arrive(1); there < RUNS * PROCESSES; [there = 0] = await arrive(0)) {
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

async function main([kind, place = '', schema = '']: readonly string[]): Promise<unknown> {
  await using store =
    kind === 'sqlite'
      ? sqliteStore({ path: place, busyTimeoutMs: 20_000 })
      : postgresStore({ url: place, schema, listen: false })
  await store.ready()
  return await Promise.all(Array.from({ length: RUNS }, (_, i) => spend(store, `${process.pid}-${i}`)))
}

if (process.argv[1]?.endsWith('spender.fixture.ts')) {
  main(process.argv.slice(2)).then(
    (result) => process.stdout.write(JSON.stringify(result)),
    (error: unknown) => {
      process.stderr.write(`${KernelError.from(error).message}\n`)
      process.exitCode = 1
    },
  )
}
