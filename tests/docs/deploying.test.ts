import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ResumableHttpAgent } from '../../packages/ag-ui/src/client.ts'
import { startPostgres, type TestServer } from '../../packages/store-postgres/src/postgres.fixture.ts'
import { blocksOf, link, root } from './guide.fixture.ts'

/** Replaces the agent of the guide, whose model needs a key: it remembers names, waits for an abort or for SIGTERM, and asks before it pays. */
const AGENT = `
import { chatModelAgent } from '@troupe/chat-model'
import { defineTool, textOf } from '@troupe/kernel'

const usage = { inputTokens: 1, outputTokens: 1 }
const pay = defineTool({
  name: 'pay', description: 'Pays.', parameters: { type: 'object' },
  needsApproval: () => true, invoke: () => 'Paid.',
})
const model = {
  name: 'stand-in',
  async *stream({ messages }, { signal }) {
    const said = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content))
    const last = messages.at(-1)
    if (last.role === 'user' && said.at(-1) === 'Pay.') {
      const callId = crypto.randomUUID()
      yield { type: 'tool-call-start', callId, name: 'pay' }
      yield { type: 'tool-call-delta', callId, delta: '{}' }
      yield { type: 'tool-call-end', callId }
      return yield { type: 'finish', reason: 'tool-calls', usage }
    }
    const name = /I am (\\w+)/.exec(said.join(' '))?.[1]
    yield { type: 'text-delta', delta: last.role === 'tool' ? textOf(last.content) : 'You are ' + name + '.' }
    if (said.at(-1) === 'Wait.') await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
    if (said.at(-1) === 'Stay.') {
      await new Promise((resolve) => process.once('SIGTERM', resolve))
      yield { type: 'text-delta', delta: ' Goodbye.' }
    }
    yield { type: 'finish', reason: 'stop', usage }
  },
}
export const agent = chatModelAgent({ name: 'assistant', model, tools: [pay] })
`

/** A server process of the guide. */
interface Replica {
  readonly url: string
  readonly child: ChildProcess
  /** Its log entries. */
  readonly logged: Record<string, unknown>[]
}

const SECRET = 'secret'
const blocks = blocksOf('docs/deploying.md')

describe('deploying on several machines', { timeout: 60_000 }, () => {
  let folder = ''
  let database: TestServer
  let pool: ReturnType<TestServer['pool']>
  /** The guide's tables are in the schema `public`, so the test creates a database for them. */
  const name = `troupe_guide_${process.pid}`
  let own = ''
  let tokenOf: (user: string) => string
  const children: ChildProcess[] = []
  let [a, b] = [{} as Replica, {} as Replica]

  const start = async (): Promise<Replica> => {
    const env = { ...process.env, DATABASE_URL: own, TOKEN_SECRET: SECRET, HOST: '127.0.0.1', PORT: '0' }
    const child = spawn(process.execPath, ['--no-warnings', 'server.ts'], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const logged: Record<string, unknown>[] = []
    const address = Promise.withResolvers<string>()
    createInterface(child.stdout).on('line', (line) => {
      const entry = JSON.parse(line)
      logged.push(entry)
      if (entry.message === 'ready') address.resolve(`${entry.url}/agent`)
    })
    child.once('exit', () => address.reject(new Error('the server of the guide did not start')))
    children.push(child)
    return { url: await address.promise, child, logged }
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'troupe-deploying-'))
    for (const { file, code } of blocks) if (file) writeFileSync(join(folder, file), code)
    writeFileSync(join(folder, 'agent.ts'), `// @ts-nocheck\n${AGENT}`)
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    const commands = blocks.map(({ kind, code }) => (kind === 'sh' ? code : '')).join('')
    for (const [name] of commands.matchAll(/@[\w/-]+/g)) link(folder, name)
    process.env.TOKEN_SECRET = SECRET
    tokenOf = (await import(join(folder, 'authenticate.ts'))).tokenOf
    database = await startPostgres()
    pool = database.pool({ max: 1 })
    await pool.query(`create database ${name}`)
    own = Object.assign(new URL(database.url), { pathname: `/${name}` }).href
    ;[a, b] = await Promise.all([start(), start()])
  }, 60_000)
  afterAll(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    await pool?.query(`drop database if exists ${name} with (force)`)
    await pool?.end()
    await database?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  }, 60_000)

  const bearer = (user: string) => ({ authorization: `Bearer ${tokenOf(user)}` })
  const client = (replica: Replica, threadId: string, user = 'ann') =>
    new ResumableHttpAgent({ url: replica.url, threadId, headers: bearer(user) })
  const say = (agent: ResumableHttpAgent, content: string) =>
    agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })

  it('a conversation that began on A goes on through B', async () => {
    const first = client(a, 'talk')
    say(first, 'I am Ann.')
    await first.runAgent()
    const second = client(b, 'talk')
    await second.connectAgent()
    say(second, 'Who am I?')
    await second.runAgent()
    expect(second.messages.map(({ content }) => content)).toEqual([
      'I am Ann.',
      'You are Ann.',
      'Who am I?',
      'You are Ann.',
    ])
  })

  it('a run that A holds is followed and cancelled through B', async () => {
    const holder = client(a, 'long')
    say(holder, 'Wait.')
    const begun = Promise.withResolvers<void>()
    const held = holder.runAgent({ runId: 'long-1' }, { onTextMessageContentEvent: () => begun.resolve() })
    await begun.promise

    const follower = client(b, 'long')
    const seen = Promise.withResolvers<void>()
    const followed = follower.connectAgent({}, { onTextMessageContentEvent: () => seen.resolve() })
    await seen.promise
    const busy = await fetch(b.url, {
      method: 'POST',
      headers: { ...bearer('ann'), 'content-type': 'application/json' },
      body: JSON.stringify({
        threadId: 'long',
        runId: 'long-2',
        messages: [{ id: 'm', role: 'user', content: 'Hi' }],
        tools: [],
        context: [],
      }),
    })
    expect([busy.status, await busy.json()]).toMatchObject([409, { code: 'THREAD_BUSY', holder: { runId: 'long-1' } }])
    const cancel = await fetch(`${b.url}/threads/long/runs/long-1/cancel`, { method: 'POST', headers: bearer('ann') })
    expect([cancel.status, await cancel.json()]).toEqual([200, { cancelled: true, ended: true }])
    await Promise.all([held, followed])
    expect(follower.messages).toEqual(holder.messages)
  })

  it('a question that A asked is answered through B', async () => {
    const asked = client(a, 'pay')
    say(asked, 'Pay.')
    await asked.runAgent()
    const answering = client(b, 'pay')
    await answering.connectAgent()
    const [question] = answering.pendingInterrupts
    expect(question?.reason).toBe(asked.pendingInterrupts[0]?.reason)
    const interruptId = question?.id ?? ''
    await answering.runAgent({ resume: [{ interruptId, status: 'resolved', payload: { approved: true } }] })
    expect(answering.messages.at(-1)?.content).toBe('Paid.')
  })

  it('another user finds nothing, and without a user the answer is 401', async () => {
    const about = (headers: Record<string, string>) => fetch(`${b.url}/threads/talk`, { headers })
    const forged = { authorization: bearer('ann').authorization.replace('ann', 'bob') }
    const statuses = [bearer('ann'), bearer('bob'), forged, {}].map(async (headers) => (await about(headers)).status)
    expect(await Promise.all(statuses)).toEqual([200, 404, 401, 401])
  })

  it('is ready while it can reach the database', async () => {
    expect((await fetch(new URL('/health', a.url))).status).toBe(204)
  })

  // Open connections would keep the process alive for ten seconds.
  it('SIGTERM lets a run end, writes its record, closes the store and ends with 0, while B goes on', {
    timeout: 8_000,
  }, async () => {
    const last = client(a, 'talk')
    await last.connectAgent()
    say(last, 'Stay.')
    const begun = Promise.withResolvers<void>()
    const run = last.runAgent({ runId: 'last' }, { onTextMessageContentEvent: () => begun.resolve() })
    await begun.promise
    const ended = once(a.child, 'exit')
    a.child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    await run
    expect(last.messages.at(-1)?.content).toBe('You are Ann. Goodbye.')
    expect(a.logged.map(({ message }) => message)).toEqual(['ready', 'stopped', 'recorded', 'closed'])
    const guide = database.pool({ connectionString: own, max: 1 })
    const { rows } = await guide.query(`select status from troupe_runs where run_id = 'last'`)
    await guide.end()
    expect(rows).toEqual([{ status: 'complete' }])
    expect((await fetch(`${b.url}/threads/talk`, { headers: bearer('ann') })).status).toBe(200)
    expect(b.logged.filter(({ message }) => message === 'report')).toEqual([])
  })

  it('the container starts the file of the guide on a Node that our packages take', () => {
    const dockerfile = blocks.find(({ kind }) => kind === 'dockerfile')?.code ?? ''
    const [, node] = /^FROM node:(\d+)-slim$/m.exec(dockerfile) ?? []
    const { engines } = JSON.parse(readFileSync(join(root, 'packages/ag-ui/package.json'), 'utf8'))
    expect(Number(node)).toBeGreaterThanOrEqual(Number.parseFloat(engines.node.replace('>=', '')))
    expect(dockerfile).toContain('CMD ["node", "server.ts"]')
  })
})
