import type { AgentEvent, Interrupt } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type McpAuth, type McpReport, type McpTokenStore, mcpTools, memoryTokens } from '@troupe/mcp'
import { expect, it } from 'vitest'
import { runnerFor, SESSION } from './agent.fixture.ts'
import { SignInDesk } from './servers/sign-in-desk.ts'

const ECHO = [[{ name: 'desk_echo', arguments: { text: 'Hi' } }]]

function handlerFor(desk: SignInDesk, tokens: McpTokenStore, reports: McpReport[] = [], client?: McpAuth['client']) {
  const auth = { redirectUrl: 'https://app.test/signed-in', ...(client && { client }) }
  return mcpTools({
    servers: { desk: { url: 'https://desk.test/mcp', trusted: true, auth, fetch: desk.fetch } },
    tokens,
    report: (report) => reports.push(report),
  })
}

const pageOf = (interrupts: readonly Interrupt[] | undefined) => String(interrupts?.[0]?.metadata?.url)
const idOf = (interrupts: readonly Interrupt[] | undefined) => interrupts?.[0]?.id ?? ''
const resultOf = (messages: readonly { readonly role: string; readonly content: unknown }[]) =>
  messages.find(({ role }) => role === 'tool')?.content

it('a person signs in once, in any process, and no secret is anywhere but in the token store', async () => {
  const desk = new SignInDesk()
  const texts = memoryTokens()
  const store = memoryStore()
  const shown: (AgentEvent | McpReport)[] = []
  const reports: McpReport[] = []
  await using first = handlerFor(desk, texts, reports)
  const run = runnerFor(first, ECHO, store).run('Go', { session: SESSION })
  for await (const event of run) shown.push(event)
  const { interrupts } = await run
  expect(interrupts).toMatchObject([{ reason: 'auth', message: 'Sign in to desk.', metadata: { mcpServer: 'desk' } }])
  const waiting = JSON.stringify(await store.threads.get(SESSION))
  const { verifier } = JSON.parse((await texts.read(SESSION, 'desk')) ?? '') as { readonly verifier: string }

  await using second = handlerFor(desk, texts, reports)
  const answers = { [idOf(interrupts)]: { redirectedTo: desk.visit(pageOf(interrupts)) } }
  const resumed = runnerFor(second, ECHO, store).resume(answers, { session: SESSION })
  for await (const event of resumed) shown.push(event)
  expect(resultOf((await resumed).messages)).toBe('Hi')

  const later = await runnerFor(second, ECHO, store).query('Again', { session: { ...SESSION, threadId: 't2' } })
  expect(resultOf(later.messages)).toBe('Hi')
  const stored = JSON.stringify([await store.threads.get(SESSION), await store.threads.messages(SESSION)])
  const all = waiting + stored + JSON.stringify([shown, reports])
  expect(all).not.toContain('secret-')
  expect(verifier.length).toBeGreaterThan(40)
  expect(all).not.toContain(verifier)
  expect(await texts.read(SESSION, 'desk')).toContain('secret-access-1')
})

it('each owner signs in for themselves', async () => {
  const desk = new SignInDesk()
  const tokens = memoryTokens()
  await using tools = handlerFor(desk, tokens)
  for (const user of ['ann', 'bob']) {
    const { query, resume } = runnerFor(tools, ECHO)
    const session = { ...SESSION, user }
    const { interrupts } = await query('Go', { session })
    const redirectedTo = desk.visit(pageOf(interrupts))
    expect(resultOf((await resume({ [idOf(interrupts)]: { redirectedTo } }, { session })).messages)).toBe('Hi')
  }
  expect(await tokens.read({ ...SESSION, user: 'ann' }, 'desk')).toContain('secret-access-1')
  expect(await tokens.read({ ...SESSION, user: 'bob' }, 'desk')).toContain('secret-access-2')
})

it('an expired token is refreshed without a question', async () => {
  const desk = new SignInDesk()
  await using tools = handlerFor(desk, memoryTokens())
  const { query, resume } = runnerFor(tools, ECHO)
  const { interrupts } = await query('Go', { session: SESSION })
  await resume({ [idOf(interrupts)]: { redirectedTo: desk.visit(pageOf(interrupts)) } }, { session: SESSION })
  desk.expire()
  const again = await runnerFor(tools, ECHO).query('Go', { session: { ...SESSION, threadId: 't2' } })
  expect([again.outcome, resultOf(again.messages)]).toEqual(['complete', 'Hi'])
})

it.each([
  ['an answer for another sign-in', 'https://app.test/signed-in?code=once&state=forged'],
  ['an answer that is not an address', 'once'],
])('%s is refused, and the run goes on without the server', async (_name, redirectedTo) => {
  const desk = new SignInDesk()
  const reports: McpReport[] = []
  await using tools = handlerFor(desk, memoryTokens(), reports)
  const { query, resume } = runnerFor(tools, ECHO)
  const { interrupts } = await query('Go', { session: SESSION })
  const { outcome } = await resume({ [idOf(interrupts)]: { redirectedTo } }, { session: SESSION })
  expect(outcome).toBe('complete')
  expect(reports).toMatchObject([{ type: 'unavailable', error: { code: 'MCP_SIGN_IN_FAILED' } }])
  expect(desk.requests).not.toContain('POST sign-in.test/token')
})

it("the secret of the app's own client goes to the sign-in server that got it first, and to no other", async () => {
  const desk = new SignInDesk()
  const tokens = memoryTokens()
  const own = { id: 'app-1', secret: 'of-the-app' }
  await using first = handlerFor(desk, tokens, [], own)
  const { query, resume } = runnerFor(first, ECHO)
  const { interrupts } = await query('Go', { session: SESSION })
  const redirectedTo = desk.visit(pageOf(interrupts))
  await resume({ [idOf(interrupts)]: { redirectedTo } }, { session: SESSION })
  expect(desk.secrets).toEqual(['sign-in.test'])

  desk.moveSignIn()
  const reports: McpReport[] = []
  await using second = handlerFor(desk, tokens, reports, own)
  const again = await runnerFor(second, ECHO).query('Go', { session: { ...SESSION, threadId: 't2' } })
  expect(again.outcome).toBe('complete')
  expect(reports).toMatchObject([{ type: 'unavailable', error: { code: 'MCP_SIGN_IN_FAILED' } }])
  expect(desk.requests.filter((request) => request.startsWith('POST other-sign-in.test'))).toEqual([])
  expect(desk.secrets).toEqual(['sign-in.test'])
  expect(await tokens.read(SESSION, 'desk')).not.toContain('of-the-app')
})
