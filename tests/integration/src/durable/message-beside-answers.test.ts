import { chatModelAgent } from '@troupe/chat-model'
import { type Agent, defineTool, type Message, textOf } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { ANN, type Process, read, world } from './killable.fixture.ts'

const NEXT: Message = { id: 'u2', role: 'user', content: 'And the balance?' }
const WHOLE = ['user: Pay', 'assistant: ', 'tool: Paid.', 'user: And the balance?', 'assistant: 12.']

/** An agent that pays once it is allowed to, and then answers. */
function clerk(heard: (readonly string[])[]): Agent {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object' },
    effect: 'idempotent',
    needsApproval: () => true,
    invoke: () => 'Paid.',
  })
  const model = scriptedModel(
    [
      ({ messages }) => {
        heard.push(lines(messages))
        return messages.length === 1 ? { toolCalls: [{ id: 'c1', name: 'pay' }] } : '12.'
      },
    ],
    { repeat: true },
  )
  return chatModelAgent({ name: 'clerk', model, tools: [pay] })
}

function lines(messages: readonly Message[]): readonly string[] {
  return messages.map(({ role, content }) => `${role}: ${textOf(content)}`)
}

/** A write of the second run, right before or after which its process is killed. */
type Kill = { readonly write: number; readonly done: boolean }

/** Answers a question, with a message beside the answer. */
function answer({ runner }: Process, question: string) {
  const options = { session: ANN, runId: 'R2', messages: [NEXT], processed: ['u2'] }
  return runner.resume({ [question]: { approved: true } }, options)
}

/** A conversation whose second run is in a process that is killed. */
async function killedWhileAnswering({ write, done }: Kill) {
  const here = world()
  const heard: (readonly string[])[] = []
  const first = here.start(clerk(heard))
  const { interrupts } = await first.runner.query('Pay', { session: ANN, runId: 'R1' })
  const question = interrupts?.[0]?.id ?? ''
  const one = here.start(clerk(heard), {}, { write: here.writes.length + write, done })
  await read(answer(one, question).eventsWithoutThrowing(), one)
  here.expire()
  const two = here.start(clerk(heard))
  return { ...here, heard, question, one, two }
}

const KILLS = [1, 2, 3, 4, 5].flatMap((write) => [
  [write, 'before', { write, done: false }],
  [write, 'after', { write, done: true }],
]) as [number, string, Kill][]

describe('a message beside answers, in a process that is killed at its write', () => {
  test.each(KILLS)('%i, %s it is done: the run goes on with both', async (_write, _when, killAt) => {
    const { messages, heard, question, two } = await killedWhileAnswering(killAt)
    const lost = await two.runner.lost()
    if (lost.length > 0) await two.runner.continue(ANN)
    // Nothing was taken, so the client sends it again.
    else if ((await messages()).length < WHOLE.length) await answer(two, question)
    expect(lines(await messages())).toEqual(WHOLE)
    expect(heard.at(-1)).toEqual(WHOLE.slice(0, -1))
  })

  test.each(KILLS)('%i, %s it is done: the next message does not lose it', async (_write, _when, killAt) => {
    const { messages, store, question, two } = await killedWhileAnswering(killAt)
    const taken = (await store.threads.processed(ANN, ['u2'])).length > 0
    if (!taken) await answer(two, question)
    await two.runner.query('Well?', { session: ANN })
    const found = lines(await messages()).filter((line) => line.startsWith('user: '))
    expect(found).toEqual(['user: Pay', 'user: And the balance?', 'user: Well?'])
  })

  test('the kills hit both runs that are lost and runs that are not', async () => {
    const found = KILLS.map(async ([, , killAt]) => (await killedWhileAnswering(killAt)).two.runner.lost())
    expect(new Set((await Promise.all(found)).map(({ length }) => length))).toEqual(new Set([0, 1]))
  })
})
