import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import type { ChatModel, Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock, scriptedModel } from '@troupe/testkit'
import { asValue } from 'awilix'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createApp } from './container.ts'
import { Conversation } from './conversation.ts'
import { demoModel } from './demo-model.ts'

let folder: string
const memory = memoryStore()

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'console-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** The whole app with another model, and a user who types these lines. */
function talk(threadId: string, model: ChatModel, lines: string[] = [], store: Store = memory) {
  const config = { user: 'Ann', thread: threadId, question: undefined, notes: join(folder, 'notes.md') }
  const { runner } = createApp(config).register({ model: asValue(model), store: asValue(store) }).cradle
  const printed: string[] = []
  const terminal = {
    print: (text: string) => void printed.push(text),
    ask: async (question: string) => {
      printed.push(question)
      return lines.shift()
    },
  }
  const session = { app: 'test', user: 'ann', threadId }
  const { signal } = new AbortController()
  return {
    conversation: new Conversation({ runner, store, session, terminal, signal }),
    printed: () => printed.join(''),
  }
}

const save = { toolCalls: [{ name: 'save_note', arguments: { note: 'Buy milk' } }] }

test('a note is saved if the user agrees', async () => {
  const model = scriptedModel([save, 'I noted it.'])
  const { conversation, printed } = talk('agreed', model, ['y'])
  expect(await conversation.say('Remember the milk')).toBe(true)
  expect(await readFile(join(folder, 'notes.md'), 'utf8')).toBe('- Buy milk\n')
  expect(printed()).toContain('? Allow save_note? {"note":"Buy milk"} [y/n]   → save_note')
  expect(printed()).toContain('I noted it.\n')
  expect(model.requests[0]?.instruction).toContain('The name of the user is Ann.')
})

test('a note is not saved if the user does not agree, and the model is told', async () => {
  const model = scriptedModel([save, 'Then not.'])
  const { conversation, printed } = talk('refused', model, ['n'])
  await conversation.say('Remember the milk')
  await expect(readFile(join(folder, 'notes.md'))).rejects.toThrow(/ENOENT/)
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', error: { code: 'TOOL_REFUSED' } })
  expect(printed()).toContain('Then not.\n')
})

test('a question that was not answered is asked by the next process', async () => {
  const model = scriptedModel([save, 'I noted it.'])
  await talk('later', model).conversation.say('Remember the milk')
  const next = talk('later', model, ['yes'])
  await next.conversation.goOn()
  expect(next.printed()).toContain('I noted it.\n')
})

test('a run that broke off is continued if the user wants it', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const session = { app: 'test', user: 'ann', threadId: 'broken' }
  // Its own clock stands still, so it does not renew its lease, as if its process had died.
  const agent = chatModelAgent({ name: 'notes', model: scriptedModel([{ hang: 'before' }]) })
  const died = runner({ agent, store, clock: fakeClock() }).query('What are my notes?', { session })
  void died.catch(() => undefined)
  await expect.poll(async () => (await store.threads.get(session))?.unfinished).toBeDefined()
  clock.advance(31_000)

  const { conversation, printed } = talk('broken', demoModel(), ['y'], store)
  await conversation.goOn()
  expect(printed()).toBe('The last answer broke off. Go on with it? [y/n]   → read_notes {}\nThere are no notes.\n')
})

test('an error of the model is shown, and the conversation goes on', async () => {
  const model = scriptedModel([{ error: { at: 'before', error: new Error('no network') } }, 'Hello.'])
  const { conversation, printed } = talk('failing', model)
  expect(await conversation.say('Hi')).toBe(false)
  expect(printed()).toMatch(/✗ MODEL_FAILED: .*no network/)
  expect(await conversation.say('Hi again')).toBe(true)
})
