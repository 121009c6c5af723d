import { isDeepStrictEqual } from 'node:util'
import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, breakLoopTool } from '@troupe/flow'
import type { Json, Message, ModelRequest, Tool } from '@troupe/kernel'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unanswered, unpaired } from './history-faults.fixture.ts'
import {
  grow,
  NAMES,
  type Shape,
  shape,
  type ThreadRequest,
  threadRequest,
  turn,
  withReachableAgents,
} from './random-tree.fixture.ts'
import type { RecordedRun } from './recorded-run.fixture.ts'
import { ANN, resultOf, type ScriptedTree, scriptedTree } from './scripted-tree.fixture.ts'
import { asks, slow, tool } from './tools.fixture.ts'

/** Error codes that a run of random agents may end with. */
const ENDS = ['TRANSFER_TARGET_UNKNOWN', 'TRANSFER_LIMIT', 'MAX_ITERATIONS', 'TOOL_FAILED']

/** The tools of every agent; `effects` gets the keys of the calls that had an effect. */
function toolsOf(effects: string[], onError: 'feedback' | 'throw'): readonly Tool[] {
  const logged = (name: string, more: Partial<Tool> = {}) =>
    tool(name, {
      invoke(_, _ctx, { idempotencyKey }) {
        effects.push(idempotencyKey)
        return { content: `${name} done`, ...(name === 'direct' && { direct: true }) }
      },
      ...more,
    })
  return [
    logged('plain'),
    logged('direct'),
    logged('guarded', { needsApproval: () => true }),
    asks(),
    slow(),
    slow('slower'),
    tool('throws', { onError, invoke: () => Promise.reject(new Error('thrown')) }),
    tool('fails', { invoke: () => Promise.reject(new Error('broken')) }),
    tool('twice', {
      async invoke(_, ctx) {
        const first = await ctx.interrupt({ reason: 'input' })
        return `${first} ${await ctx.interrupt({ reason: 'input' })}`
      },
    }),
  ]
}

interface Setup {
  readonly tree: ScriptedTree<string>
  readonly effects: readonly string[]
  /** The fault that the next run gets. */
  readonly faults: { cancel: ThreadRequest['cancel'] }
  /** The faults of the histories that the inner model was given. */
  inner(): readonly string[]
}

function setup(
  shape: Shape,
  innerShape: Shape,
  turns: readonly ScriptedTurn[],
  innerTurns: readonly ScriptedTurn[],
): Setup {
  const effects: string[] = []
  const faults: Setup['faults'] = { cancel: undefined }
  const tools = toolsOf(effects, 'throw')
  const [left, innerLeft] = [turns.slice(), innerTurns.slice()]
  const model = scriptedModel([(request) => withReachableAgents(innerLeft.shift() ?? 'Inner done.', request)], {
    repeat: true,
  })
  const innerAgents = NAMES.map(
    (key, i) => [key, chatModelAgent({ name: `I${i}`, model, tools, retry: false })] as const,
  )
  const inner = agentTool(grow(innerShape, Object.fromEntries(innerAgents)), { name: 'Inner', forward: true })
  const script = Array(200).fill((request: ModelRequest) => withReachableAgents(left.shift() ?? 'Done.', request))
  const extras = { exit: true, tools: [...tools, breakLoopTool(), inner] }
  const tree = scriptedTree<string>(
    Object.fromEntries(NAMES.map((name) => [name, script])),
    (agents) => grow(shape, agents),
    {
      with: Object.fromEntries(NAMES.map((name) => [name, extras])),
      runner: { pending: 'drop' },
      onEvent(_, index) {
        if (index === faults.cancel?.at) void tree.runner.cancel(ANN, { mode: faults.cancel.mode })
      },
    },
  )
  return { tree, faults, effects, inner: () => model.requests.flatMap(({ messages }) => unpaired(messages)) }
}

const answerTo = (reason: string, yes: boolean): Json => (reason === 'approval' ? { approved: yes } : `answer ${yes}`)

async function apply({ tree, faults }: Setup, { what, pick, yes, move, cancel }: ThreadRequest): Promise<RecordedRun> {
  const { checkpoint, openCalls = [] } = (await tree.thread()) ?? {}
  if (move && checkpoint) await tree.move()
  faults.cancel = cancel
  const picked = <T>(all: readonly T[]) => {
    const some = all.filter((_, i) => pick & (1 << i))
    return some.length > 0 ? some : all
  }
  const asked = picked(checkpoint?.interrupts ?? [])
  const open = picked(openCalls)
  if (what === 'words' || asked.length + open.length === 0) return tree.ask('Go on.')
  if (asked.length > 0 && (what === 'answers' || open.length === 0)) {
    return tree.answer(Object.fromEntries(asked.map(({ id, reason }) => [id, answerTo(reason, yes)])))
  }
  return tree.give(...open.map(({ callId }) => resultOf(callId)))
}

async function check({ tree, faults, effects, inner }: Setup, { end, errors, interrupts }: RecordedRun): Promise<void> {
  const { checkpoint, openCalls = [] } = (await tree.thread()) ?? {}
  const asked = checkpoint?.interrupts ?? []
  const awaiting = [...openCalls, ...asked].map(({ callId }) => callId)
  expect(unanswered(await tree.history(), awaiting)).toEqual([])
  expect(inner()).toEqual([])
  expect(effects.filter((key, i) => effects.indexOf(key) !== i)).toEqual([])
  expect(asked.map(({ id }) => id)).toEqual(interrupts.map(({ id }) => id))
  expect(new Set(asked.map(({ id }) => id)).size).toBe(asked.length)
  if (end?.outcome === 'cancelled') expect([faults.cancel === undefined, openCalls, asked]).toEqual([false, [], []])
  else if (end?.outcome === 'failed') expect(ENDS).toContain(end.error?.code)
  else expect(end?.outcome).toBe(asked.length > 0 ? 'interrupted' : 'complete')
  expect(errors).toHaveLength(end?.outcome === 'failed' ? 1 : 0)
  if (end?.outcome === 'complete')
    expect(openCalls.map(({ callId }) => callId).toSorted()).toEqual([...(end.openCallIds ?? [])].toSorted())
}

async function converse(
  shape: Shape,
  innerShape: Shape,
  turns: readonly ScriptedTurn[],
  inner: readonly ScriptedTurn[],
  requests: readonly ThreadRequest[],
) {
  const it = setup(shape, innerShape, turns, inner)
  await check(it, await it.tree.ask('Begin.'))
  for (const request of requests) await check(it, await apply(it, request))
  it.faults.cancel = undefined
  await check(it, await it.tree.ask('The end?'))
  expect(await foreignMessages(it.tree)).toEqual([])
}

/** Lists messages that a model was shown as its own although another agent made them. */
async function foreignMessages({ models, history }: ScriptedTree<string>): Promise<string[]> {
  const stored = await history()
  return Object.entries(models).flatMap(([name, { requests }]) =>
    requests.flatMap(({ messages }) => messages.flatMap((message) => foreignIn(stored, name, message))),
  )
}

function foreignIn(stored: readonly Message[], name: string, message: Message): string[] {
  if (message.role === 'assistant') {
    const original = stored.find(({ id }) => id === message.id)
    const own = message.agentName === name && isDeepStrictEqual(message, original)
    return own ? [] : [`${name} was shown ${message.id} of ${message.agentName}`]
  }
  if (message.role === 'tool') {
    const original = stored.findLast((other) => other.role === 'tool' && other.callId === message.callId)
    const same = isDeepStrictEqual(original?.content, message.content)
    return same ? [] : [`${name} was shown ${JSON.stringify(message.content)} for ${message.callId}`]
  }
  return []
}

test('whatever models say in whatever tree: runs end once, inputs and thread are sound, effects happen once', async () => {
  await fc.assert(
    fc.asyncProperty(
      shape,
      shape,
      fc.array(turn, { minLength: 2, maxLength: 14 }),
      fc.array(turn, { maxLength: 5 }),
      fc.array(threadRequest, { maxLength: 6 }),
      converse,
    ),
    { numRuns: Number(process.env.RUNS ?? 150), timeout: 5_000 },
  )
}, 60_000)
