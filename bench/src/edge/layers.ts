import { AgUiAgent, agUiHandler } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import type { ChatModel, Store } from '@troupe/kernel'
import { pipe } from '@troupe/kernel/kit'
import { startRun } from '@troupe/kernel/run'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import type { Work } from '../measure.ts'
import { ASKED } from '../talker.ts'
import { byHandServer } from './by-hand-server.ts'
import { remoteReader } from './remote-reader.ts'
import { inputOf, OWNER, readWhole, requestOf } from './requests.ts'

/** All that a delta goes through up to here. */
export interface Layer {
  readonly name: string
  readonly work: Work
}

export interface Layers extends AsyncDisposable {
  /** From the model alone to a reader over HTTP, one more each time. */
  readonly layers: readonly Layer[]
  /** From the model to a reader over HTTP, without a framework. */
  readonly byHand: Layer
}

const { signal } = new AbortController()

/** The way of so many deltas, which the model has to say, to whoever reads them. */
export async function layersOf(model: ChatModel, deltas: number, store: Store): Promise<Layers> {
  const agent = chatModelAgent({ name: 'bench', model })
  const messages = messageLifecycle({ store, publish: () => undefined })
  const alone = runner({ agent })
  const stored = runner({ agent, store })
  const recorded = runner({ agent, store, callbacks: [messages, toolLifecycle({ messages })] })
  const agUi = new AgUiAgent({ runner: recorded, store, appName: OWNER.app, userId: OWNER.user })
  const handler = agUiHandler({ runner: recorded, store, owner: OWNER })
  const server = await agUiServer(handler)
  const byHand = await byHandServer(model)
  const reader = await remoteReader()

  const used: string[] = []
  /** A run on a thread of its own, up to where its records are written. */
  const onThread = (work: (threadId: string) => Promise<unknown>): Work => ({
    async run() {
      const threadId = `t${crypto.randomUUID()}`
      used.push(threadId)
      await work(threadId)
      await messages.flush({ ...OWNER, threadId })
    },
    async clear() {
      for (const threadId of used.splice(0)) await store.threads.delete({ ...OWNER, threadId })
    },
  })
  const piped = (type: string, events: AsyncIterable<{ readonly type: string }>) => pipedDeltas(deltas, type, events)
  const overHttp = (url: string, threadId: string) =>
    reader.read({ url, body: JSON.stringify(inputOf(threadId)) }, deltas)

  return {
    layers: [
      { name: 'the model alone, by hand', work: { run: () => readByHand(model, deltas) } },
      {
        name: '`chatModelAgent`, by `startRun`',
        work: { run: () => piped('text-delta', startRun(agent, { messages: [QUESTION] })) },
      },
      { name: '`runner` with its flow', work: { run: () => piped('text-delta', alone.query('Go.')) } },
      {
        name: '+ a thread in the store',
        work: onThread((threadId) => piped('text-delta', stored.query('Go.', { session: { ...OWNER, threadId } }))),
      },
      {
        name: '+ records',
        work: onThread((threadId) => piped('text-delta', recorded.query('Go.', { session: { ...OWNER, threadId } }))),
      },
      {
        name: '+ AG-UI translation',
        work: onThread((threadId) => piped('TEXT_MESSAGE_CONTENT', agUi.run(inputOf(threadId)))),
      },
      {
        name: '+ run log and SSE',
        work: onThread(async (threadId) => checkEnd(await readWhole(await handler(requestOf(threadId))), deltas)),
      },
      { name: '+ HTTP, to another process', work: onThread((threadId) => overHttp(server.url, threadId)) },
    ],
    byHand: { name: 'by hand: the model to a socket', work: { run: () => overHttp(byHand.url, 'by-hand') } },
    async [Symbol.asyncDispose]() {
      await reader.close()
      await byHand.close()
      await server.stop(0)
      await messages[Symbol.asyncDispose]()
    },
  }
}

const QUESTION = { id: 'u1', role: 'user', content: 'Go.' } as const

async function readByHand(model: ChatModel, deltas: number): Promise<void> {
  let seen = 0
  for await (const part of model.stream(ASKED, { signal })) if (part.type === 'text-delta') seen++
  expectDeltas(deltas, seen)
}

/** By the pipe, as each layer takes them from the one before. */
async function pipedDeltas(
  deltas: number,
  type: string,
  events: AsyncIterable<{ readonly type: string }>,
): Promise<void> {
  let seen = 0
  await pipe(events, {
    write(event) {
      if (event.type === type) seen++
    },
  })
  expectDeltas(deltas, seen)
}

function expectDeltas(expected: number, seen: number): void {
  if (seen !== expected) throw new Error(`bench: expected ${expected} deltas, got ${seen}`)
}

/** The sequence at the end says how many events came before. */
function checkEnd({ end }: { readonly end: string }, deltas: number): void {
  const seq = Number(/.*^id: \S+:(\d+)$/ms.exec(end)?.[1])
  if (!(seq > deltas) || !end.includes('"RUN_FINISHED"')) throw new Error(`bench: a run did not finish: ${end}`)
}
