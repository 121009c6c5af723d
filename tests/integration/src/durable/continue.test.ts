import { chatModelAgent } from '@troupe/chat-model'
import { type Agent, type AgentEvent, defineTool, type Interrupt, type Message, type Run, textOf } from '@troupe/kernel'
import { answersTo, scriptedModel } from '@troupe/testkit'
import { beforeAll, describe, expect, test } from 'vitest'
import { ANN, type Process, read, type World, world } from './killable.fixture.ts'

const SCRIPT = [{ toolCalls: [{ name: 'look' }] }, { toolCalls: [{ name: 'save' }] }, 'Done.']

/** An agent that looks something up, saves it and answers; it notes what it does. */
function clerk(done: string[], effect: 'idempotent' | 'once' = 'idempotent'): Agent {
  const tool = (name: string) =>
    defineTool({
      name,
      description: name,
      parameters: { type: 'object' },
      effect,
      invoke(_, ctx) {
        done.push(name)
        ctx.state.set(name, true)
        return `${name} is done`
      },
    })
  return chatModelAgent({
    name: 'clerk',
    tools: [tool('look'), tool('save')],
    model: {
      name: 'scripted',
      async *stream(request, options) {
        const turn = request.messages.filter(({ role }) => role === 'assistant').length
        done.push(`model:${turn}`)
        yield* scriptedModel([SCRIPT[turn] ?? 'lost']).stream(request, options)
      },
    },
  })
}

const WHOLE = ['model:0', 'look', 'model:1', 'save', 'model:2']

/** Runs in a process that is killed at a write, then continues in another. */
async function killed(write: number, done: boolean, here: World = world()) {
  const did: string[] = []
  const one = here.start(clerk(did), {}, { write, done })
  const seen = await read(one.runner.query('Go', { session: ANN, runId: 'R' }).eventsWithoutThrowing(), one)
  here.expire()
  const two = here.start(clerk(did))
  const lost = await two.runner.lost()
  if (lost.length > 0) await read(two.runner.continue(ANN, { shown: seen }).eventsWithoutThrowing(), two, seen)
  return { ...here, did, seen, lost, two }
}

/** An agent that sends a mail once. */
function mailer(send: () => string | Promise<string>): Agent {
  const model = scriptedModel(
    [(request) => (request.messages.length === 1 ? MAIL : `It said ${said(request.messages)}`)],
    { repeat: true },
  )
  const tool = defineTool({ name: 'send', description: 'Sends', parameters: { type: 'object' }, invoke: send })
  return chatModelAgent({ name: 'mailer', model, tools: [tool] })
}

/** A conversation in which a mail is sent; what becomes of a mail that may have been sent depends on `unknownCalls`. */
function mailRoom(unknownCalls: 'tell' | 'ask') {
  const here = world()
  const sent: string[] = []
  return {
    sent,
    /** Sends in a process that is killed while it sends. */
    async killedWhileSending(name: string, start: (runner: Process['runner']) => Run) {
      const process = here.start(
        mailer(() => {
          sent.push(name)
          process.kill()
          return new Promise(() => {})
        }),
        { unknownCalls },
      )
      await read(start(process.runner).eventsWithoutThrowing(), process)
      here.expire()
    },
    /** Continues in a process that is killed at a write from there on; says whether it came to that. */
    async killedWhileContinuing(killAt: { readonly write: number; readonly done: boolean }): Promise<boolean> {
      const write = here.writes.length + killAt.write
      const process = here.start(
        mailer(() => `${sent.push('killed')}`),
        { unknownCalls },
        { ...killAt, write },
      )
      await read(process.runner.continue(ANN).eventsWithoutThrowing(), process)
      here.expire()
      return !process.alive
    },
    /** Starts a process that sends without being killed. */
    start(name: string): Process['runner'] {
      const send = () => {
        sent.push(name)
        return `sent by ${name}`
      }
      return here.start(mailer(send), { unknownCalls }).runner
    },
  }
}

/** Sends a mail once, in a process that is killed while it sends, and continues in another. */
async function killedWhileSending(unknownCalls: 'tell' | 'ask') {
  const { sent, start, killedWhileSending } = mailRoom(unknownCalls)
  await killedWhileSending('one', (runner) => runner.query('Mail', { session: ANN, runId: 'R' }))
  const two = start('two')
  return { sent, two, result: await two.continue(ANN) }
}

const MAIL = { toolCalls: [{ id: 'c1', name: 'send' }] }
const said = (messages: readonly Message[]) => textOf(messages.findLast(({ role }) => role === 'tool')?.content ?? '')

describe('a call of effect once that may have run', () => {
  test('is not run again: the model is told that its outcome is not known', async () => {
    const { sent, result } = await killedWhileSending('tell')
    expect([sent, result.text]).toEqual([['one'], 'It said The outcome of this call is not known.'])
  })

  test('is not run again: a person who is asked knows its result', async () => {
    const { sent, two, result } = await killedWhileSending('ask')
    expect(result).toMatchObject({
      outcome: 'interrupted',
      interrupts: [
        { id: expect.stringMatching(/^c1#/), callId: 'c1', reason: 'unknown-outcome', metadata: { tool: 'send' } },
      ],
    })
    const answers = answersTo(result.interrupts, { c1: { done: true, result: 'It was sent.' } })
    const { text } = await two.resume(answers, { session: ANN })
    expect([sent, text]).toEqual([['one'], 'It said It was sent.'])
  })

  test('runs if the person who is asked says that it has not run', async () => {
    const { sent, two, result } = await killedWhileSending('ask')
    const { text } = await two.resume(answersTo(result.interrupts, { c1: { done: false } }), { session: ANN })
    expect([sent, text]).toEqual([['one', 'two'], 'It said sent by two'])
  })

  test.each([false, true])(
    'is asked about once, though the process that asks is killed, after the write: %s',
    async (done) => {
      const asked: (readonly Interrupt[])[] = []
      for (let write = 1; ; write++) {
        const { sent, start, killedWhileSending, killedWhileContinuing } = mailRoom('ask')
        await killedWhileSending('one', (runner) => runner.query('Mail', { session: ANN, runId: 'R' }))
        if (!(await killedWhileContinuing({ write, done }))) break
        const three = start('three')
        const stored = (await three.lost()).length === 0
        if (stored) break
        const { interrupts = [] } = await three.continue(ANN)
        asked.push(interrupts)
        const answers = answersTo(interrupts, { c1: { done: true, result: 'It was sent.' } })
        const { text } = await three.resume(answers, { session: ANN })
        expect([write, sent, text]).toEqual([write, ['one'], 'It said It was sent.'])
      }
      expect(asked.length).toBeGreaterThan(done ? 0 : 1)
      for (const interrupts of asked) expect(interrupts).toEqual([expect.objectContaining({ id: asked[0]?.[0]?.id })])
    },
  )

  test('is asked about each time that it breaks off, and the last answer counts', async () => {
    const { sent, start, killedWhileSending } = mailRoom('ask')
    await killedWhileSending('one', (runner) => runner.query('Mail', { session: ANN, runId: 'R' }))
    const first = await start('unused').continue(ANN)
    const notDone = answersTo(first.interrupts, { c1: { done: false } })
    await killedWhileSending('two', (runner) => runner.resume(notDone, { session: ANN }))
    const second = await start('unused').continue(ANN)
    expect(second.interrupts).toMatchObject([{ callId: 'c1', reason: 'unknown-outcome' }])
    expect(second.interrupts?.[0]?.id).not.toBe(first.interrupts?.[0]?.id)
    const done = answersTo(second.interrupts, { c1: { done: true, result: 'It was sent.' } })
    const { text } = await start('three').resume(done, { session: ANN })
    expect([sent, text]).toEqual([['one', 'two'], 'It said It was sent.'])
  })
})

describe('a run whose process dies', () => {
  let events: AgentEvent[]
  let history: readonly Message[]
  beforeAll(async () => {
    const here = world()
    const did: string[] = []
    const process = here.start(clerk(did))
    events = await read(process.runner.query('Go', { session: ANN, runId: 'R' }), process)
    history = await here.messages()
    expect(did).toEqual(WHOLE)
    expect(here.writes).toEqual(['threads.commit', ...Array(5).fill('journal.append'), 'threads.commit'])
  })

  test.each([1, 2, 3, 4, 5, 6])('after write %i goes on as if nothing had happened', async (write) => {
    const { did, seen, lost, messages, store, two } = await killed(write, true)
    expect(lost).toMatchObject([{ ref: ANN, runId: 'R' }])
    expect(did).toEqual(WHOLE)
    expect(await messages()).toEqual(history)
    expect(seen).toEqual(events)
    expect((await store.threads.get(ANN))?.state).toEqual({ look: true, save: true })
    expect(await two.runner.lost()).toEqual([])
  })

  test.each([2, 3, 4, 5, 6])('before write %i does again only the step that was not stored', async (write) => {
    const { did, messages } = await killed(write, false)
    const step = write - 2
    expect(did).toEqual(WHOLE.toSpliced(step, 0, WHOLE[step] as string))
    expect((await messages()).map(({ role }) => role)).toEqual(history.map(({ role }) => role))
  })

  test('after its last commit has ended', async () => {
    const { lost, messages } = await killed(7, true)
    expect([lost, await messages()]).toEqual([[], history])
  })
})
