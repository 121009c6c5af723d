import { existsSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { chatModelAgent } from '@troupe/chat-model'
import { startRun } from '@troupe/kernel/run'
import type { McpTools } from '@troupe/mcp'
import { scriptedModel } from '@troupe/testkit'

/** What became of the calls of a tool that must run once, each counted by the id of the call in its run. */
export interface OnceCalls {
  readonly made: number
  /** The model was told that the call was carried out. */
  readonly said: number
  /** The model was told that nobody knows. */
  readonly unknown: number
  /** The model was told that the server could not be reached. */
  readonly denied: number
  /** The server has carried it out more than once. */
  readonly replayed: number
  readonly deniedYetDone: number
  readonly saidYetUndone: number
}

type Told = 'said' | 'unknown' | 'denied'

/** The calls of one tool, which notes the id that it gets in a file. */
export class OnceCallLog {
  readonly #file: string
  readonly #told: Map<string, Told> = new Map()
  #runs = 0

  constructor(file: string) {
    this.#file = file
  }

  /** Lets an agent call the tool, once alone and three times at once; `beside` is called with the latter. */
  async run(tools: McpTools, tool: string, beside: readonly string[] = []): Promise<void> {
    const run = `run-${this.#runs++}`
    const once = (id: string) => ({ id: `${run}/${id}`, name: tool, arguments: { id: `${run}/${id}` } })
    const model = scriptedModel([
      { toolCalls: [once('a')] },
      { toolCalls: [once('b'), once('c'), ...beside.map((name) => ({ name })), once('d')] },
      'Done.',
    ])
    const agent = chatModelAgent({ name: 'guide', model, handlers: [tools] })
    const { messages } = await startRun(agent, 'Go')
    for (const message of messages) {
      if (message.role !== 'tool' || message.name !== tool) continue
      this.tell(message.callId, toldBy(message.error?.code))
    }
  }

  /** Notes what a client was told of a call. */
  tell(callId: string, told: Told): void {
    this.#told.set(callId, told)
  }

  /** Waits until the server carries out another call, so that a restart finds some under way. */
  async nextDone(): Promise<void> {
    const before = linesOf(this.#file, 'noted ').length
    while (linesOf(this.#file, 'noted ').length === before) await setTimeout(2)
  }

  /** How often the server has carried out each call. */
  #done(): ReadonlyMap<string, number> {
    const done = new Map<string, number>()
    for (const line of linesOf(this.#file, 'noted ')) done.set(line, (done.get(line) ?? 0) + 1)
    return done
  }

  count(): OnceCalls {
    const done = this.#done()
    const told = (wanted: Told) => [...this.#told].filter(([, each]) => each === wanted).map(([id]) => id)
    return {
      made: this.#told.size,
      said: told('said').length,
      unknown: told('unknown').length,
      denied: told('denied').length,
      replayed: [...done.values()].filter((times) => times > 1).length,
      deniedYetDone: told('denied').filter((id) => done.has(id)).length,
      saidYetUndone: told('said').filter((id) => !done.has(id)).length,
    }
  }
}

/** A tool that the server did not offer, as it was down, is like a server that cannot be reached. */
function toldBy(code: string | undefined): Told {
  if (code === undefined) return 'said'
  if (code === 'OUTCOME_UNKNOWN') return 'unknown'
  if (code === 'MCP_UNAVAILABLE' || code === 'TOOL_UNKNOWN') return 'denied'
  throw new Error(`a call ended with ${code}`)
}

/** The rest of the lines that begin so. */
export function linesOf(file: string, start: string): readonly string[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  return lines.filter((line) => line.startsWith(start)).map((line) => line.slice(start.length))
}
