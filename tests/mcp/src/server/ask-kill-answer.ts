import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { clientOf, type Generation } from './served.fixture.ts'

/** Where both processes keep their threads. */
export type KeptIn =
  | { readonly kind: 'sqlite' }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }

/** What came of it. */
export interface Answered {
  readonly text: string | undefined
  readonly isError: boolean
  /** What the tool has done, in all processes. */
  readonly notes: readonly string[]
}

const PROGRAM = fileURLToPath(new URL('asking-server.ts', import.meta.url))
const CALLS = {
  host: { name: 'host', arguments: { message: 'Book a table' } },
  book_table: { name: 'book_table', arguments: { people: 4 } },
} as const

/** Lets one server ask, kills it with SIGKILL while the question is open, and gives the answer to another one. */
export async function askKillAnswer(generation: Generation, kept: KeptIn, name: keyof typeof CALLS): Promise<Answered> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-mcp-'))
  const notes = join(folder, 'notes')
  const where = kept.kind === 'sqlite' ? [join(folder, 'chat.db'), '-'] : [kept.url, kept.schema]
  const children: ChildProcess[] = []
  const start = async () => {
    const child = fork(PROGRAM, [kept.kind, ...where, notes], { execArgv: ['--no-warnings'] })
    children.push(child)
    const [url] = (await once(child, 'message')) as [string]
    const kill = async () => {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    }
    return { url, kill }
  }
  try {
    const result = await (generation === 'stateful' ? overSessions : overStates)(start, name)
    const [first] = result.content as readonly { readonly text?: string }[]
    const noted = readFileSync(notes, 'utf8').split('\n').filter(Boolean)
    return { text: first?.text, isError: result.isError === true, notes: noted }
  } finally {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

type Start = () => Promise<{ readonly url: string; kill(): Promise<void> }>
type Result = Awaited<ReturnType<Client['callTool']>>

async function connect(url: string, client: Client): Promise<Client> {
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { 'x-user': 'ann' } } }),
  )
  return client
}

/** The state names the question, so the same call with the answer is made again. */
async function overStates(start: Start, name: keyof typeof CALLS): Promise<Result> {
  const human = () => clientOf('2026-07-28', { answer: () => ({ action: 'cancel' }) })
  const first = await start()
  const one = await connect(first.url, human())
  const asked = (await one.callTool(CALLS[name], { allowInputRequired: true })) as never as {
    readonly requestState: string
    readonly inputRequests: object
  }
  await first.kill()
  await one.close()
  const two = await connect((await start()).url, human())
  const inputResponses = Object.fromEntries(
    Object.keys(asked.inputRequests).map((key) => [key, { action: 'accept', content: { answer: '19:30' } }]),
  )
  const params = { ...CALLS[name], requestState: asked.requestState, inputResponses }
  const result = await two.request({ method: 'tools/call', params })
  await two.close()
  return result as Result
}

/** The person is being asked when the server dies; a client that has named its conversation is asked again. */
async function overSessions(start: Start, name: keyof typeof CALLS): Promise<Result> {
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
