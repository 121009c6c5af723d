import { type Agent, say } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { expect, test } from 'vitest'
import { parallel, runner, sequential } from '../index.ts'

const talker = (name: string): Agent => ({
  name,
  description: '',
  async *run(_, ctx) {
    ctx.state.set(name, true)
    yield* say(ctx, `I am ${name}.`)
  },
})
const deaf: Agent = { name: 'deaf', description: '', run: () => hanging() }
async function* hanging(): AsyncGenerator<never> {
  await new Promise(() => {})
}

test.each([
  ['at the top', (agent: Agent) => agent],
  ['in another one', (agent: Agent) => parallel({ name: 'outer', agents: [agent, talker('beside')] })],
  ['in a sequence', (agent: Agent) => sequential({ name: 'steps', agents: [talker('before'), agent] })],
])('what branches said and wrote is stored after a cancel, though one does not end: %s', async (_, wrap) => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const agent = wrap(parallel({ name: 'both', agents: [talker('a'), deaf] }))
  const desk = runner({ agent, store, clock })
  const session = { app: 'test', user: 'ann', threadId: 't' }
  const run = Promise.resolve(desk.query('Go', { session })).catch(({ code }) => code)
  for (let i = 0; i < 50; i++) await Promise.resolve()
  await new Promise((resolve) => setImmediate(resolve))
  await desk.cancel(session)
  for (let i = 0; i < 30; i++) {
    clock.advance(100)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await run).toBe('ABORTED')
  const texts = (await store.threads.messages(session)).map(({ message }) => message.content)
  expect(texts).toContain('I am a.')
  expect((await store.threads.get(session))?.state).toMatchObject({ a: true })
  expect(clock.pending).toBe(0)
})
