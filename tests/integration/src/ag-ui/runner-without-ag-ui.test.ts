import { toAgUiMessages } from '@troupe/ag-ui'
import { runner } from '@troupe/flow'
import { expect, test } from 'vitest'
import { ANN, Client, linesOf, replica, STORES, scripted, storedLines } from './in-process-client.fixture.ts'

test.each(STORES)('a conversation that the runner was asked past AG-UI goes on over AG-UI, %s', async (_, make) => {
  await using store = make()
  const { agent, model } = scripted(['Hello, Ann.', 'Nice.', 'You are Ann.', 'Bye.'])
  const { query } = runner({ agent, store })
  await query('I am Ann.', { session: ANN })
  await query('I live in Rome.', { session: ANN })

  const client = new Client(replica(agent, store))
  const before = (await store.threads.messages(ANN)).map(({ message }) => message)
  client.setMessages(toAgUiMessages(before) as Parameters<Client['setMessages']>[0])
  expect(await client.say()).toBe('success')
  expect(model.requests).toHaveLength(2)
  expect(await client.say('Who am I?')).toBe('success')
  expect(await client.say('Goodbye.')).toBe('success')
  expect(linesOf(model.requests.at(-1)?.messages).filter((line) => line.startsWith('user'))).toEqual([
    'user I am Ann.',
    'user I live in Rome.',
    'user Who am I?',
    'user Goodbye.',
  ])
  expect(await storedLines(store)).toHaveLength(8)
})

test('a question that failed past AG-UI is not asked again with the next one', async () => {
  const [, make] = STORES[0] as (typeof STORES)[number]
  await using store = make()
  const { agent, model } = scripted([{ text: 'Yes', error: { at: 'before', error: new Error('down') } }, 'Here.'])
  const { query } = runner({ agent, store, report: () => {} })
  await expect(query('Are you there?', { session: ANN })).rejects.toThrow()

  const client = new Client(replica(agent, store))
  const before = (await store.threads.messages(ANN)).map(({ message }) => message)
  client.setMessages(toAgUiMessages(before) as Parameters<Client['setMessages']>[0])
  expect(await client.say('And now?')).toBe('success')
  expect(linesOf(model.requests.at(-1)?.messages).filter((line) => line.startsWith('user'))).toEqual([
    'user Are you there?',
    'user And now?',
  ])
})
