import { type Agent, KernelError, type Run, type Runner, say, textOf } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { testOptions } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { EMAIL } from '../redaction/personal-data.ts'
import { type GuardedRunnerOptions, guardedRunner, type InputCheck } from './guarded-runner.ts'

const agent: Agent = {
  name: 'echo',
  description: '',
  run: ({ messages }, ctx) => say(ctx, messages.map(({ content }) => textOf(content)).join(' ')),
}

/** A runner that notes what it is asked to do. */
function made(options: Omit<GuardedRunnerOptions, 'runner'>) {
  const asked: unknown[] = []
  const runner: Runner = {
    agent,
    run(input, request) {
      asked.push(input)
      const runId = request?.runId
      return startRun(agent, input as never, { ...(runId !== undefined && { runId }) })
    },
    resume(answers, { messages }) {
      asked.push(messages ? { answers, messages } : { answers })
      return startRun(agent, 'resumed')
    },
    cancel: async () => true,
  }
  return { chat: guardedRunner({ runner, ...options }), asked }
}

const noPassword: InputCheck = (text) => (/password/.test(text) ? { refuse: 'it has a password' } : undefined)
const slow: InputCheck = async (text, about) => {
  await new Promise((resolve) => setImmediate(resolve))
  return noPassword(text, about)
}
const session = { app: 'test', user: 'ann', threadId: 't' }

async function failureOf(run: Run): Promise<KernelError | undefined> {
  return Promise.resolve(run).then(
    () => undefined,
    (error: unknown) => KernelError.from(error),
  )
}

describe('what a user says', () => {
  it.each([
    ['rules', { rules: [EMAIL] }],
    ['rules and a check', { rules: [EMAIL], input: slow }],
  ])('is redacted before the run begins, with %s', async (_, options) => {
    const { chat, asked } = made(options)
    const { text } = await chat.run('I am ann@example.com')
    expect(text).toBe('I am [email]')
    const message = { role: 'user', content: [{ type: 'text', text: 'ann@example.com' }] } as const
    await chat.run({ messages: [message, { role: 'tool', callId: 'c', name: 'x', content: 'bob@example.com' }] })
    await chat.resume({ 'q@example.com': { to: 'ann@example.com' } }, { session, messages: [{ ...message, id: 'm' }] })
    expect(JSON.stringify(asked)).not.toMatch(/ann@|bob@/)
    expect(asked.at(-1)).toMatchObject({ answers: { 'q@example.com': { to: '[email]' } } })
  })

  it('is not stored if it is refused: the run never begins', async () => {
    for (const input of [noPassword, slow]) {
      const { chat, asked } = made({ input })
      const refused = { code: 'GUARDRAIL_REFUSED', message: 'guardrails: the message was refused, it has a password' }
      expect(await failureOf(chat.run('my password'))).toMatchObject(refused)
      await expect(Array.fromAsync(chat.run('my password'))).rejects.toMatchObject(refused)
      expect(await Array.fromAsync(chat.run('my password').eventsWithoutThrowing())).toEqual([])
      const answer = chat.resume({ q: { deep: ['my password'] } }, { session })
      expect(await failureOf(answer)).toMatchObject({ message: expect.stringContaining('the answer was refused') })
      expect(asked).toEqual([])
    }
  })

  it('may be replaced', async () => {
    const { chat } = made({ input: () => ({ replace: 'removed' }) })
    expect((await chat.run('secret')).text).toBe('removed')
  })

  it('is checked once, however the run is read, and keeps its run id', async () => {
    let checks = 0
    const { chat } = made({ input: () => void checks++ })
    const run = chat.run('Hi', { runId: 'r1' })
    const types: string[] = []
    for await (const event of run) types.push(`${event.type} ${event.runId}`)
    expect((await run).text).toBe('Hi')
    expect([run.runId, types[0], types.at(-1), checks]).toEqual(['r1', 'run-start r1', 'run-end r1', 1])
  })
})

it('a reader that leaves aborts the run, and one that leaves first begins none', async () => {
  const { chat, asked } = made({ input: slow })
  const silent: Agent = {
    name: 'silent',
    description: '',
    async *run(_, ctx) {
      yield* say(ctx, 'Well,')
      await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
    },
  }
  const slowly = guardedRunner({ runner: { agent: silent, run: () => startRun(silent, 'Hi') } as never, input: slow })
  const run = slowly.run('Hi')
  for await (const { type } of run) if (type === 'text-delta') break
  expect(await failureOf(run)).toMatchObject({ code: 'ABORTED' })
  const other = chat.run('Hi')
  await other[Symbol.asyncIterator]().return?.()
  const checking = chat.run('Hi')[Symbol.asyncIterator]()
  const first = checking.next()
  await checking.return?.()
  expect(await first).toMatchObject({ done: true })
  await new Promise((resolve) => setImmediate(resolve))
  expect(asked).toEqual([])
})

it('has what its runner has', async () => {
  const { chat } = made({ rules: [EMAIL] })
  expect([chat.agent, chat.fork, chat.lost, chat.continue, await chat.cancel(session)]).toEqual([
    agent,
    undefined,
    undefined,
    undefined,
    true,
  ])
  expect(() => chat.run(undefined as never)).toThrow('expected a text or { messages')
})

const options: Required<GuardedRunnerOptions> = {
  runner: made({ rules: [EMAIL] }).chat,
  input: noPassword,
  rules: [EMAIL],
}
testOptions<GuardedRunnerOptions>('guardedRunner', guardedRunner, options)

it.each<[string, unknown]>([
  ['runner must be a Runner', { rules: [EMAIL] }],
  ['expected input or rules', { runner: options.runner }],
  ['input must be a function', { runner: options.runner, input: /a/ }],
])('refuses options: %s', (message, given) => {
  expect(() => guardedRunner(given as GuardedRunnerOptions)).toThrow(message)
})

it('has every member of the runner, and passes on what it is asked', async () => {
  const lost = { ref: session, runId: 'r', unfinishedSince: 0 } as never
  const asked: Record<string, readonly unknown[]> = {}
  const noted =
    <T>(name: string, value: T) =>
    (...args: readonly unknown[]): T => {
      asked[name] = args
      return value
    }
  const run = startRun(agent, 'Hi')
  const whole: Required<Runner> = {
    agent,
    run: noted('run', run),
    resume: noted('resume', run),
    continue: noted('continue', run),
    lost: noted('lost', Promise.resolve([lost])),
    progress: noted('progress', Promise.resolve(7)),
    fork: noted('fork', Promise.resolve(session)),
    cancel: noted('cancel', Promise.resolve(true)),
  }
  const chat = guardedRunner({ runner: whole, rules: [EMAIL] })
  expect(Object.keys(chat).sort()).toEqual(Object.keys(whole).sort())
  expect(await chat.progress?.(session, 'r')).toBe(7)
  expect(await chat.lost?.({ limit: 1 })).toEqual([lost])
  expect(await chat.fork?.(session, { messageId: 'm' } as never)).toBe(session)
  expect(await chat.cancel(session, { mode: 'soft' } as never)).toBe(true)
  expect(chat.continue?.(session, { runId: 'r' })).toBe(run)
  expect(asked).toEqual({
    progress: [session, 'r'],
    lost: [{ limit: 1 }],
    fork: [session, { messageId: 'm' }],
    cancel: [session, { mode: 'soft' }],
    continue: [session, { runId: 'r' }],
  })
  const bare = guardedRunner({
    runner: { agent, run: whole.run, resume: whole.resume, cancel: whole.cancel },
    rules: [EMAIL],
  })
  expect(Object.keys(bare).sort()).toEqual(['agent', 'cancel', 'resume', 'run'])
})
