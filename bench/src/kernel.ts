import { type Agent, type AgentEvent, type Callback, type EventDraft, type Sink, stream } from '@troupe/kernel'
import { pipe } from '@troupe/kernel/kit'
import { observe, startRun } from '@troupe/kernel/run'
import type { Workload } from './measure.ts'

const DELTAS = 5_000
const part = { type: 'text-delta', delta: 'word ' } as const

async function* model(deltas: number): AsyncGenerator<typeof part> {
  for (let i = 0; i < deltas; i++) yield part
}

/** What one would write without a framework: the same events, one generator, no guarantees. */
async function* handWritten(deltas: number): AsyncGenerator<{ type: string; delta?: string; text?: string }> {
  yield { type: 'run-start' }
  yield { type: 'message-start' }
  let text = ''
  for await (const { delta } of model(deltas)) {
    text += delta
    yield { type: 'text-delta', delta }
  }
  yield { type: 'message-end', text }
  yield { type: 'run-end' }
}

/** An agent that hands a model's deltas on, through the pipe. */
function telling(deltas: number): Agent {
  const tell = async (sink: Sink<EventDraft>, messageId: string) => {
    let text = ''
    await sink.write({ type: 'message-start', messageId })
    await pipe(model(deltas), {
      write({ delta }) {
        text += delta
        return sink.write({ type: 'text-delta', messageId, delta })
      },
    })
    await sink.write({ type: 'message-end', message: { id: messageId, role: 'assistant', content: text } })
  }
  return {
    name: 'telling',
    description: 'Tells what the model says.',
    run: (_input, ctx) => stream((sink) => tell(sink, ctx.ids.next())),
  }
}

/** The same as a third party would write it. */
function generating(deltas: number): Agent {
  return {
    name: 'generating',
    description: 'Tells what the model says.',
    async *run(_input, ctx) {
      const messageId = ctx.ids.next()
      let text = ''
      yield { type: 'message-start', messageId }
      for await (const { delta } of model(deltas)) {
        text += delta
        yield { type: 'text-delta', messageId, delta }
      }
      yield { type: 'message-end', message: { id: messageId, role: 'assistant', content: text } }
    },
  }
}

/** Agents around an agent, each observing the next. */
function nested(agent: Agent, depth: number): Agent {
  if (depth === 0) return agent
  const inner = nested(agent, depth - 1)
  return {
    name: `layer-${depth}`,
    description: '',
    run: (input, ctx) => observe(inner, input, ctx.derive({ step: 'agent:1' })),
  }
}

const input = { messages: [{ id: 'u1', role: 'user', content: 'Tell me.' }] } as const
const callback: Callback = { name: 'counting', run: { onPart() {} }, agent: { onStart() {}, onEnd() {} } }

async function read(events: AsyncIterable<{ readonly type: string; readonly delta?: unknown }>): Promise<number> {
  let seen = 0
  for await (const { type } of events) if (type === 'text-delta') seen++
  return seen
}

async function expecting(deltas: number, work: Promise<number>): Promise<void> {
  const seen = await work
  if (seen !== deltas) throw new Error(`bench: expected ${deltas} deltas, got ${seen}`)
}

function turn(name: string, troupe: () => AsyncIterable<AgentEvent>): Workload {
  return {
    name,
    unit: 'run',
    units: 1,
    handWritten: () => expecting(1, read(handWritten(1))),
    troupe: () => expecting(1, read(troupe())),
  }
}

function deltas(name: string, troupe: () => AsyncIterable<AgentEvent>): Workload {
  return {
    name,
    unit: 'delta',
    units: DELTAS,
    handWritten: () => expecting(DELTAS, read(handWritten(DELTAS))),
    troupe: () => expecting(DELTAS, read(troupe())),
  }
}

/** What the kernel itself costs, before any plugin. */
export function kernelWorkloads(): readonly Workload[] {
  const [short, long] = [telling(1), telling(DELTAS)]
  const five = nested(long, 5)
  const generator = generating(DELTAS)
  return [
    turn('one short run, iterated', () => startRun(short, input)),
    { ...turn('one short run, awaited', () => startRun(short, input)), troupe: async () => startRun(short, input) },
    turn('one short run, with a callback', () => startRun(short, input, { callbacks: [callback] })),
    deltas('a streamed delta', () => startRun(long, input)),
    deltas('a streamed delta, with a callback', () => startRun(long, input, { callbacks: [callback] })),
    deltas('a streamed delta, through five agents more', () => startRun(five, input)),
    deltas("a streamed delta of a third party's generator", () => startRun(generator, input)),
  ]
}
