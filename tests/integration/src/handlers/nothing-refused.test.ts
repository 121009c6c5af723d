import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agUiHandler } from '@troupe/ag-ui'
import { runner } from '@troupe/flow'
import { EMAIL, guardedRunner, redactJson } from '@troupe/handlers'
import type { Agent, Callback, KernelError } from '@troupe/kernel'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { sqliteStore } from '@troupe/store-sqlite'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { escapingAgent, FORBIDDEN, guards, leakyAgent, MAIL, SECRET, TRACES } from './leaky-agent.fixture.ts'
import { watchedStore } from './watched-store.fixture.ts'

const words = fc.constantFrom(
  SECRET,
  `${MAIL} `,
  `The code is ${FORBIDDEN}. `,
  'One two three. ',
  ' and ',
  '\n',
  '中文。',
  '"\\',
)
const texts = fc.array(words, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''))
const places = fc.array(fc.nat(200), { maxLength: 12 })

/** Raised for a campaign. */
const RUNS = Number(process.env.RUNS ?? 500)

/** Everything that readers, callbacks and the store get of one run. */
async function everything(agent: Agent): Promise<string> {
  const { store, written } = watchedStore()
  const seen: unknown[] = []
  const report = () => {}
  await using messages = messageLifecycle({ store, publish: (notification) => void seen.push(notification), report })
  const spans = {
    onStart: (_info: unknown, input: unknown) => void seen.push(input),
    onEnd: (_: unknown, output: unknown) => void seen.push(output),
    onError: (_: unknown, error: KernelError) => void seen.push(error.toJSON()),
  }
  const watching: Callback = { name: 'watching', run: spans, agent: spans, model: spans, tool: spans }
  const callbacks = [messages, toolLifecycle({ messages }), watching]
  const chat = runner({ agent, store, callbacks, report })
  const session = { app: 'test', user: 'ann', threadId: 't' }
  for await (const event of chat.query('Go.', { session }).eventsWithoutThrowing()) seen.push(event)
  await messages.flush(session)
  return `${JSON.stringify(seen)}\n${written()}`
}

/** A text with its escapes read, however often it was written as JSON. */
function readEscapes(text: string): string {
  return text.replaceAll(/\\+u([\da-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

describe('nothing of what is refused or redacted', () => {
  test('is in an event, a record, a thread, a journal or a notification, however the text is cut (property)', async () => {
    let found = 0
    await fc.assert(
      fc.asyncProperty(texts, places, fc.boolean(), async (text, at, refuse) => {
        const all = await everything(leakyAgent(text, at, guards(refuse)))
        expect(TRACES.exec(all)?.[0]).toBeUndefined()
        if (all.includes('[secret]')) found++
      }),
      { numRuns: RUNS },
    )
    expect(found).toBeGreaterThan(RUNS / 10)
  }, 600_000)

  test('is there as the name of a tool, or in structured output that writes it with escapes (property)', async () => {
    await fc.assert(
      fc.asyncProperty(texts, places, fc.boolean(), async (text, at, refuse) => {
        const all = await everything(escapingAgent(text, at, guards(refuse)))
        expect(TRACES.exec(all)?.[0]).toBeUndefined()
        // Nor as it was written, because a parser reads it.
        expect(TRACES.exec(readEscapes(all))?.[0]).toBeUndefined()
      }),
      { numRuns: RUNS },
    )
  }, 600_000)

  test('is in the log of an AG-UI server, or anywhere in the file of its store', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-refused-'))
    try {
      await fc.assert(
        fc.asyncProperty(texts, places, fc.boolean(), async (text, at, refuse) => {
          const store = sqliteStore({ path: join(folder, `${crypto.randomUUID()}.db`), synchronous: 'normal' })
          const chat = runner({ agent: leakyAgent(text, at, guards(refuse)), store, report: () => {} })
          const handler = agUiHandler({ runner: chat, store, owner: { app: 'test', user: 'ann' }, report: () => {} })
          const body = {
            threadId: 't',
            runId: 'r',
            messages: [{ id: 'u', role: 'user', content: 'Go.' }],
            tools: [],
            context: [],
            state: {},
            forwardedProps: {},
          }
          const response = await handler(
            new Request('http://test/', {
              method: 'POST',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify(body),
            }),
          )
          const said = await response.text()
          expect(said).toContain('RUN_STARTED')
          expect(TRACES.exec(said)?.[0]).toBeUndefined()
          await store[Symbol.asyncDispose]()
        }),
        { numRuns: 60 },
      )
      for (const name of readdirSync(folder)) {
        expect(TRACES.exec(readFileSync(join(folder, name), 'latin1'))?.[0], name).toBeUndefined()
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  }, 120_000)

  test('that a user says is in the store or the log, if its request and its messages are redacted', async () => {
    const rules = [EMAIL, { name: 'secret', match: SECRET }]
    const clean = redactJson(rules)
    const { store, written } = watchedStore()
    const inner = runner({ agent: leakyAgent('Fine.', [], []), store })
    const handler = agUiHandler({
      runner: guardedRunner({ runner: inner, rules }),
      store,
      owner: { app: 'test', user: 'ann' },
    })
    const messages = [{ id: 'u', role: 'user', content: `I am ${MAIL}, ${SECRET}.` }]
    const body = { threadId: 't', runId: 'r', messages, tools: [], context: [], state: {}, forwardedProps: {} }
    const headers = { 'content-type': 'application/json' }
    const request = new Request('http://test/', { method: 'POST', headers, body: JSON.stringify(clean(body)) })
    const said = await (await handler(request)).text()
    expect(said).toContain('RUN_FINISHED')
    expect(TRACES.exec(said + written())?.[0]).toBeUndefined()
    expect(written()).toContain('I am [email], [secret].')
    await handler[Symbol.asyncDispose]()
    const direct = guardedRunner({ runner: inner, rules })
    await direct.run(`I am ${SECRET}`, { session: { app: 'test', user: 'ann', threadId: 't2' } })
    expect(TRACES.exec(written())?.[0]).toBeUndefined()
  })

  test('would be seen without the handlers', async () => {
    const { store, written } = watchedStore()
    const chat = runner({ agent: leakyAgent(SECRET, [], []), store })
    await chat.query('Go.', { session: { app: 'test', user: 'ann', threadId: 't' } })
    expect(TRACES.test(written())).toBe(true)
  })
})
