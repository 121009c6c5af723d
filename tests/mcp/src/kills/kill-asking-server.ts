import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { clientOf, type Generation } from '../server/served.fixture.ts'
import { type KeptIn, placeOf } from './kept-in.ts'

/** What came of it. */
interface Answered {
  readonly text: string | undefined
  readonly isError: boolean
  /** What the tool has done, in all processes. */
  readonly notes: readonly string[]
}

/** How often to look whether the lease of the killed server has run out. */
const LOOK_MS = 200
const PROGRAM = fileURLToPath(new URL('asking-server.ts', import.meta.url))
const CALLS = {
  host: { name: 'host', arguments: { message: 'Book a table' } },
  book_table: { name: 'book_table', arguments: { people: 4 } },
} as const

/** Lets one server ask, kills it with SIGKILL while the question is open, and gives the answer to another one. */
export async function killAskingServer(generation: Generation, kept: KeptIn, name: ToolName): Promise<Answered> {
  await using servers = killableServers(kept)
  return servers.answered(await (generation === 'stateful' ? overSessions : overStates)(servers.start, name))
}

/** Kills the server while the tool runs that has the answer, and sends the same answer to another one until it has an outcome. */
export async function killAnsweredServer(kept: KeptIn, name: ToolName): Promise<Answered> {
  await using servers = killableServers(kept)
  const first = await servers.start({ HANGS: '1' })
  const one = await connect(first.url, human())
  const params = await asked(one, name)
  const hangs = first.says()
  const lost = one.request({ method: 'tools/call', params }).catch(() => undefined)
  await hangs
  await first.kill()
  await one.close()
  await lost
  const two = await connect((await servers.start()).url, human())
  for (;;) {
    const answered = servers.answered((await two.request({ method: 'tools/call', params })) as Result)
    if (!answered.text?.startsWith('THREAD_BUSY')) return answered
    await setTimeout(LOOK_MS)
  }
}

/** Servers over one store, for a test to kill. */
function killableServers(kept: KeptIn) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-mcp-'))
  const file = join(folder, 'notes')
  const children: ChildProcess[] = []
  const notes = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [])
  return {
    async start(env: Record<string, string> = {}) {
      const options = { execArgv: ['--no-warnings'], env: { ...process.env, ...env } }
      const child = fork(PROGRAM, [file, ...placeOf(kept, folder)], options)
      children.push(child)
      const says = async () => String((await once(child, 'message'))[0])
      const url = await says()
      const kill = async () => {
        const exited = once(child, 'exit')
        child.kill('SIGKILL')
        await exited
      }
      return { url, says, kill }
    },
    answered({ content, isError }: Result): Answered {
      const [first] = content as readonly { readonly text?: string }[]
      return { text: first?.text, isError: isError === true, notes: notes() }
    },
    async [Symbol.asyncDispose]() {
      const ended = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      await Promise.all(
        ended.map((child) => {
          const exited = once(child, 'exit')
          child.kill('SIGKILL')
          return exited
        }),
      )
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const human = () => clientOf('2026-07-28', { answer: () => ({ action: 'cancel' }) })

type ToolName = keyof typeof CALLS
type Start = () => Promise<{ readonly url: string; kill(): Promise<void> }>
type Result = Awaited<ReturnType<Client['callTool']>>

async function connect(url: string, client: Client): Promise<Client> {
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { 'x-user': 'ann' } } }),
  )
  return client
}

/** Asks, and gives the call that brings the answer. */
async function asked(client: Client, name: ToolName) {
  const result = await client.callTool(CALLS[name], { allowInputRequired: true })
  const { requestState, inputRequests } = result as never as {
    readonly requestState: string
    readonly inputRequests?: object
  }
  if (!inputRequests) throw new Error(`the server did not ask: ${JSON.stringify(result)}`)
  const answer = { action: 'accept', content: { answer: '19:30' } }
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answer]))
  return { ...CALLS[name], requestState, inputResponses }
}

/** The state names the question, so the same call with the answer is made again. */
async function overStates(start: Start, name: ToolName): Promise<Result> {
  const first = await start()
  const one = await connect(first.url, human())
  const params = await asked(one, name)
  await first.kill()
  await one.close()
  const two = await connect((await start()).url, human())
  const result = await two.request({ method: 'tools/call', params })
  await two.close()
  return result as Result
}

/** The person is being asked when the server dies; a client that has named its conversation is asked again. */
async function overSessions(start: Start, name: ToolName): Promise<Result> {
  const first = await start()
  const asked = Promise.withResolvers<void>()
  const never = () => {
    asked.resolve()
    return new Promise<object>(() => undefined)
  }
  const call = { ...CALLS[name], _meta: { 'troupe/thread': 'dinner' } }
  const one = await connect(first.url, clientOf('stateful', { answer: never }))
  const lost = one.callTool(call).catch(() => undefined)
  await asked.promise
  await first.kill()
  await one.close()
  await lost
  const answer = () => ({ action: 'accept', content: { answer: '19:30' } })
  const two = await connect((await start()).url, clientOf('stateful', { answer }))
  const result = await two.callTool(call)
  await two.close()
  return result
}
