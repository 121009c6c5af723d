import { isDeepStrictEqual } from 'node:util'
import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, breakLoopTool } from '@troupe/flow'
import type { Json, ModelRequest, Tool } from '@troupe/kernel'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Deed, deed, grow, NAMES, type Shape, sayable, shape, turn } from './random-tree.fixture.ts'
import type { RecordedRun } from './recorded-run.fixture.ts'
import { ANN, resultOf, type ScriptedTree, scriptedTree } from './scripted-tree.fixture.ts'
import { unanswered, unpaired } from './soundness.fixture.ts'
import { asks, slow, tool } from './tools.fixture.ts'

/** Error codes that a run of random agents may end with. */
const ENDS = ['TRANSFER_TARGET_UNKNOWN', 'TRANSFER_LIMIT', 'MAX_ITERATIONS', 'TOOL_FAILED']

/** Tools, and the keys of the calls that had an effect. */
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
  /** The fault of the next run. */
  readonly trouble: { cancel: Deed['cancel'] }
  /** The faults of the histories that the inner model was given. */
  inner(): readonly string[]
}

function setup(
  shape: Shape,
  inside: Shape,
  turns: readonly ScriptedTurn[],
  innerTurns: readonly ScriptedTurn[],
): Setup {
  const effects: string[] = []
  const trouble: Setup['trouble'] = { cancel: undefined }
  const tools = toolsOf(effects, 'throw')
  const [left, leftInside] = [turns.slice(), innerTurns.slice()]
  const model = scriptedModel([(request) => sayable(leftInside.shift() ?? 'Inner done.', request)], { repeat: true })
  const insiders = NAMES.map((key, i) => [key, chatModelAgent({ name: `I${i}`, model, tools, retry: false })] as const)
  const inner = agentTool(grow(inside, Object.fromEntries(insiders)), { name: 'Inner', forward: true })
  const script = Array(200).fill((request: ModelRequest) => sayable(left.shift() ?? 'Done.', request))
  const extras = { exit: true, tools: [...tools, breakLoopTool(), inner] }
  const tree = scriptedTree<string>(
    Object.fromEntries(NAMES.map((name) => [name, script])),
    (agents) => grow(shape, agents),
    {
      with: Object.fromEntries(NAMES.map((name) => [name, extras])),
      runner: { pending: 'drop' },
      onEvent(_, index) {
        if (index === trouble.cancel?.at) void tree.runner.cancel(ANN, { mode: trouble.cancel.mode })
      },
    },
  )
  return { tree, trouble, effects, inner: () => model.requests.flatMap(({ messages }) => unpaired(messages)) }
}

const answerTo = (reason: string, yes: boolean): Json => (reason === 'approval' ? { approved: yes } : `answer ${yes}`)

async function apply({ tree, trouble }: Setup, { what, pick, yes, move, cancel }: Deed): Promise<RecordedRun> {
  const { checkpoint, openCalls = [] } = (await tree.thread()) ?? {}
  if (move && checkpoint) await tree.move()
  trouble.cancel = cancel
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

async function check(
  { tree, trouble, effects, inner }: Setup,
  { end, errors, interrupts }: RecordedRun,
): Promise<void> {
  const { checkpoint, openCalls = [] } = (await tree.thread()) ?? {}
  const asked = checkpoint?.interrupts ?? []
  const awaiting = [...openCalls, ...asked].map(({ callId }) => callId)
  expect(unanswered(await tree.history(), awaiting)).toEqual([])
  expect(inner()).toEqual([])
  expect(effects.filter((key, i) => effects.indexOf(key) !== i)).toEqual([])
  expect(asked.map(({ id }) => id)).toEqual(interrupts.map(({ id }) => id))
  expect(new Set(asked.map(({ id }) => id)).size).toBe(asked.length)
  if (end?.outcome === 'cancelled') expect([trouble.cancel === undefined, openCalls, asked]).toEqual([false, [], []])
  else if (end?.outcome === 'failed') expect(ENDS).toContain(end.error?.code)
  else expect(end?.outcome).toBe(asked.length > 0 ? 'interrupted' : 'complete')
  expect(errors).toHaveLength(end?.outcome === 'failed' ? 1 : 0)
  if (end?.outcome === 'complete')
    expect(openCalls.map(({ callId }) => callId).toSorted()).toEqual([...(end.openCallIds ?? [])].toSorted())
}

async function tell(
  shape: Shape,
  inside: Shape,
  turns: readonly ScriptedTurn[],
  inner: readonly ScriptedTurn[],
  deeds: readonly Deed[],
) {
  const it = setup(shape, inside, turns, inner)
  await check(it, await it.tree.ask('Begin.'))
  for (const deed of deeds) {
    await check(it, await apply(it, deed))
  }
  it.trouble.cancel = undefined
  await check(it, await it.tree.ask('The end?'))
  expect(await misled(it.tree)).toEqual([])
}

/** Lists messages that a model was shown as its own although another agent made them. */
async function misled({ models, history }: ScriptedTree<string>): Promise<string[]> {
  const stored = new Map((await history()).map((message) => [message.id, message]))
  const results = new Map(
    [...stored.values()].flatMap((message) => (message.role === 'tool' ? [[message.callId, message.content]] : [])),
  )
  return Object.entries(models).flatMap(([name, { requests }]) =>
    requests.flatMap(({ messages }) =>
      messages.flatMap((message) => {
        if (message.role === 'assistant') {
          const same = message.agentName === name && isDeepStrictEqual(message, stored.get(message.id))
          return same ? [] : [`${name} was shown ${message.id} of ${message.agentName}`]
        }
        if (message.role !== 'tool') return []
        return isDeepStrictEqual(results.get(message.callId), message.content)
          ? []
          : [`${name} was shown ${JSON.stringify(message.content)} for ${message.callId}`]
      }),
    ),
  )
}

const _hasBranches = ({ kind, children }: Shape): boolean => kind === 'parallel' || children.some(_hasBranches)

test('whatever models say in whatever tree: runs end once, inputs and thread are sound, effects happen once', async () => {
  await fc.assert(
    fc.asyncProperty(
      shape,
      shape,
      fc.array(turn, { minLength: 2, maxLength: 14 }),
      fc.array(turn, { maxLength: 5 }),
      fc.array(deed, { maxLength: 6 }),
      tell,
    ),
    { numRuns: Number(process.env.RUNS ?? 150), timeout: 5_000 },
  )
}, 60_000)
