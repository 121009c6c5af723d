import { type Agent, contextKey, type RunContext, say } from '@troupe/kernel'
import { createRunContext, startRun } from '@troupe/kernel/run'
import { describe, expect, test } from 'vitest'
import { agentOf, hello, idle, quiet, runToEnd, talker, textsOf, tool, transferring } from './flow.fixture.ts'
import { agentTool, agentWithOptions, parallel, type Session, sequential, sessionOf, setSubAgents } from './index.ts'
import { scriptedAgent, transfer } from './scripted-agent.fixture.ts'

/** An agent that looks at the session before it answers. */
const looking = (name: string, look: (session: Session, ctx: RunContext) => unknown): Agent =>
  agentOf(name, async function* (ctx) {
    const session = sessionOf(ctx)
    if (session) look(session, ctx)
    yield* say(ctx, `I am ${name}.`)
  })
const alone = (agent: Agent) => agentWithOptions(agent, {})

describe('events', () => {
  test('are those of the run so far, without deltas', async () => {
    let seen: readonly string[] = []
    const look = looking('look', ({ events }) => {
      seen = events.map(({ agentName, type }) => `${agentName} ${type}`)
    })
    await runToEnd(setSubAgents(transferring('lead', 'look'), [look]))
    expect(seen).toEqual([
      'lead agent-start',
      'lead message-start',
      'lead message-end',
      'lead action',
      'lead agent-end',
      'look agent-start',
    ])
  })

  test('of the steps of a workflow appear once each', async () => {
    let ends: readonly string[] = []
    const look = looking('look', ({ events }) => {
      ends = events.flatMap((event) => (event.type === 'message-end' ? [event.agentName] : []))
    })
    const inner = sequential({ name: 'inner', agents: [talker('a'), talker('b')] })
    await runToEnd(alone(sequential({ name: 'outer', agents: [inner, look] })))
    expect(ends).toEqual(['a', 'b'])
  })

  test('of an agent used as a tool are its own', async () => {
    const seen: string[][] = []
    const note = (session: Session) => void seen.push(session.events.map(({ agentName }) => agentName))
    const inner = alone(looking('inner', note))
    const outer = scriptedAgent(
      'outer',
      [[{ name: 'inner', args: { request: 'Hi' } }]],
      agentTool(inner, { forward: true }),
    )
    await runToEnd(setSubAgents(outer, [talker('x')]))
    expect(seen).toEqual([['inner']])
  })
})

describe('messages', () => {
  test('grow with the run, and each names its agent', async () => {
    const seen: string[][] = []
    const look = (name: string) => looking(name, ({ messages }) => seen.push(textsOf(messages)))
    await runToEnd(alone(sequential({ name: 'steps', agents: [look('a'), look('b')] })))
    expect(seen).toEqual([['user: Hello'], ['user: Hello', 'a: I am a.']])
  })

  test('are seen by a tool while it runs', async () => {
    let seen: string[] = []
    const note = tool('note', (_, ctx) => {
      seen = textsOf(sessionOf(ctx)?.messages ?? [])
    })
    await runToEnd(alone(scriptedAgent('a', [['note'], 'Done.'], note)))
    expect(seen).toEqual(['user: Hello', 'a: note({})'])
  })

  test('hold the results of calls that ran at once in the order of the calls', async () => {
    const gates = { first: Promise.withResolvers<void>(), second: Promise.withResolvers<void>() }
    const tools = [
      tool('first', () => gates.first.promise.then(() => 'one')),
      tool('second', () => gates.second.promise.then(() => 'two')),
      tool('third', () => 'three'),
    ]
    let seen: readonly string[] = []
    const look = looking('look', ({ messages }) => {
      seen = textsOf(messages)
    })
    const caller = scriptedAgent('a', [['first', 'second', 'third'], 'Done.'], ...tools)
    const running = runToEnd(alone(sequential({ name: 'steps', agents: [caller, look] })))
    await idle()
    gates.second.resolve()
    await idle()
    gates.first.resolve()
    const { said } = await running
    expect(said.slice(1, 4)).toEqual(['a: three', 'a: two', 'a: one'])
    expect(seen).toEqual([
      'user: Hello',
      'a: first({}) second({}) third({})',
      'a: one',
      'a: two',
      'a: three',
      'a: Done.',
    ])
  })

  test('of a target are in that order too', async () => {
    const gate = Promise.withResolvers<void>()
    const target = scriptedAgent('target', ['Hi.'])
    const wait = tool('wait', () => gate.promise.then(() => 'waited'))
    const lead = scriptedAgent('lead', [['wait', ...transfer('target')]], wait)
    const running = runToEnd(setSubAgents(lead, [target]))
    await idle()
    gate.resolve()
    await running
    const results = textsOf(target.inputs[0]?.messages.slice(2) ?? [])
    expect(results).toEqual([expect.stringContaining('`wait`'), expect.stringContaining('`transfer_to_agent`')])
  })
})

describe('values', () => {
  const SEEN = contextKey<string[]>('seen')

  test('are shared by every agent of the run, in workflows and after transfers, and gone with it', async () => {
    const found: unknown[] = []
    const share = (name: string): Agent =>
      looking(name, (session) => {
        found.push(session.get(SEEN)?.slice())
        session.set(SEEN, [...(session.get(SEEN) ?? []), name])
      })
    const steps = sequential({ name: 'steps', agents: [share('b'), parallel({ name: 'par', agents: [share('c')] })] })
    const lead = agentOf('lead', async function* (ctx) {
      sessionOf(ctx)?.set(SEEN, ['lead'])
      yield { type: 'action', action: { type: 'transfer-to-agent', agentName: 'steps' } }
    })
    const agent = setSubAgents(lead, [steps])
    for (let i = 0; i < 2; i++) await runToEnd(agent)
    expect(found).toEqual([['lead'], ['lead', 'b'], ['lead'], ['lead', 'b']])
  })

  test('keys go by identity', async () => {
    const found: unknown[] = []
    const look = looking('look', (session) => {
      session.set(SEEN, ['x'])
      found.push(session.get(contextKey('seen')), session.get(SEEN))
    })
    await runToEnd(alone(look))
    expect(found).toEqual([undefined, ['x']])
  })
})

test('no session where no flow is around', async () => {
  const found: unknown[] = []
  const look = quiet('look', (ctx) => found.push(sessionOf(ctx)))
  await startRun(look, hello)
  expect([...found, sessionOf(createRunContext())]).toEqual([undefined, undefined])
})

test('two runs at once have sessions of their own', async () => {
  const seen: Session[] = []
  const agent = alone(looking('a', (session) => void seen.push(session)))
  await Promise.all([runToEnd(agent), runToEnd(agent, hello, { runId: 'R2' })])
  expect(seen[0]).not.toBe(seen[1])
  expect(seen.map(({ events }) => new Set(events.map(({ runId }) => runId)))).toEqual([new Set(['R']), new Set(['R2'])])
})

describe('state', () => {
  const writing = (name: string, key: string, to?: string): Agent =>
    agentOf(name, async function* (ctx) {
      ctx.state.set(key, [...((ctx.state.get(key) as string[] | undefined) ?? []), name])
      if (to) yield { type: 'action', action: { type: 'transfer-to-agent', agentName: to } }
    })

  test('goes from agent to agent, and each change is reported for the agent that made it, before its next event', async () => {
    const { lines } = await runToEnd(setSubAgents(writing('lead', 'k', 'child'), [writing('child', 'k')]))
    expect(lines.slice(1)).toEqual([
      'lead agent-start',
      'lead state-delta {"k":["lead"]}',
      'lead action {"type":"transfer-to-agent","agentName":"child"}',
      'lead agent-end complete',
      'lead/child agent-start',
      'lead/child state-delta {"k":["lead","child"]}',
      'lead/child agent-end complete',
      'lead run-end complete ""',
    ])
  })

  test('of tools becomes state-delta events too, removed keys as well', async () => {
    const tools = [tool('put', (_, ctx) => ctx.state.set('k', 1)), tool('drop', (_, ctx) => ctx.state.delete('old'))]
    const { lines } = await runToEnd(alone(scriptedAgent('a', [['put'], ['drop'], 'Done.'], ...tools)), hello, {
      state: { old: 1 },
    })
    expect(lines.filter((line) => line.includes('state-delta'))).toEqual([
      'a state-delta {"k":1}',
      'a state-delta {} without old',
    ])
  })

  test('temp: keys are seen by the agents of the run', async () => {
    const agents = [writing('a', 'temp:k'), writing('b', 'temp:k')]
    const { lines } = await runToEnd(alone(sequential({ name: 'steps', agents })))
    expect(lines).toContain('steps/b state-delta {"temp:k":["a","b"]}')
  })
})
