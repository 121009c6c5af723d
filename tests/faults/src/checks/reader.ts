import { type AgentEvent, type EventOf, type JsonObject, textOf } from '@troupe/kernel'
import type { Findings } from './findings.ts'

/** A message as a reader has seen it. */
interface SeenMessage {
  text: string
  end?: EventOf<'message-end'>
}

/** A call as a reader has seen it. */
interface SeenCall {
  started: number
  ends: EventOf<'tool-end'>[]
  /** The answer that it was cut off with, if it was. */
  cutOffWith?: SeenMessage | undefined
}

/**
 * A reader of a conversation: follows its events and finds what does not fit.
 * Contract: what a process ended because it had lost its lease may end again, because the run goes on elsewhere.
 */
export class Reader {
  readonly #findings: Findings
  readonly messages: Map<string, SeenMessage> = new Map()
  readonly calls: Map<string, SeenCall> = new Map()
  readonly #runs: Map<string, 'runs' | 'has ended'> = new Map()
  readonly #agents: Map<string, number> = new Map()
  /** The answer that has announced each call last. */
  readonly #announced: Map<string, SeenMessage | undefined> = new Map()
  readonly state: Record<string, JsonObject[string]> = {}

  constructor(findings: Findings, events: readonly AgentEvent[]) {
    this.#findings = findings
    for (const event of events) this.#read(event)
  }

  /** Whether the end of a run was seen. */
  sawEnd(runId: string): boolean {
    return this.#runs.get(runId) === 'has ended'
  }

  /** The runs that were seen, without those inside others. */
  get runs(): readonly string[] {
    return [...this.#runs.keys()].filter((runId) => !runId.includes('/'))
  }

  /** Agents that have begun and not ended. */
  get openAgents(): readonly string[] {
    return [...this.#agents].filter(([, open]) => open !== 0).map(([agent]) => agent)
  }

  #read(event: AgentEvent): void {
    const { runId } = event
    if (event.type === 'run-start') {
      this.#check(`${runId} begins once`, !this.#runs.has(runId), event)
      this.#runs.set(runId, 'runs')
      return
    }
    this.#check(`${runId} shows events between its beginning and its end`, this.#runs.get(runId) === 'runs', event)
    if (isLeaseLost(event)) return
    if (event.type === 'run-end') this.#runs.set(runId, 'has ended')
    else if (event.type === 'agent-start' || event.type === 'agent-end') this.#readAgent(event)
    else if (event.type === 'state-delta') this.#readState(event)
    else if (event.type === 'tool-start' || event.type === 'tool-end') this.#readCall(event)
    else if (event.type === 'tool-call-start') this.#announced.set(event.callId, this.messages.get(event.messageId))
    else this.#readMessage(event)
  }

  #readAgent({ type, runId, runPath, agentName }: EventOf<'agent-start'> | EventOf<'agent-end'>): void {
    const agent = [runId, ...runPath, agentName].join(' ')
    const open = (this.#agents.get(agent) ?? 0) + (type === 'agent-start' ? 1 : -1)
    this.#check(`${agent} begins before it ends, one at a time`, open === 0 || open === 1, type)
    this.#agents.set(agent, open)
  }

  #readState({ set, removed }: EventOf<'state-delta'>): void {
    Object.assign(this.state, set)
    for (const key of removed) delete this.state[key]
  }

  #readCall(event: EventOf<'tool-start'> | EventOf<'tool-end'>): void {
    const { callId: id } = event
    const call = this.calls.get(id) ?? { started: 0, ends: [] }
    this.calls.set(id, call)
    const isCutOff = event.type === 'tool-end' && event.status === 'dropped'
    if (isCutOff && call.started === 0) {
      call.cutOffWith = this.#announced.get(id)
      return
    }
    const { cutOffWith } = call
    const cameAgain = !cutOffWith || cutOffWith.end?.dropped === true
    this.#check(`call ${id} comes again only if the answer that it was cut off with was taken back`, cameAgain, event)
    if (event.type === 'tool-start') call.started++
    else call.ends.push(event)
    this.#check(`call ${id} starts once and ends once at most`, call.started === 1 && call.ends.length <= 1, event)
  }

  #readMessage(event: AgentEvent): void {
    if (event.type === 'message-start') {
      this.#check(`message ${event.messageId} begins once`, !this.messages.has(event.messageId))
      this.messages.set(event.messageId, { text: '' })
    } else if (event.type === 'text-delta') {
      const message = this.messages.get(event.messageId)
      this.#check(
        `a word belongs to message ${event.messageId} while it is open`,
        message !== undefined && !message.end,
        event,
      )
      if (message) message.text += event.delta
    } else if (event.type === 'message-end') this.#endMessage(event)
  }

  #endMessage(event: EventOf<'message-end'>): void {
    const { id, content } = event.message
    const seen = this.messages.get(id)
    const isFirst = seen !== undefined && !seen.end
    const takenBack = event.dropped === true && seen?.end?.message.partial === true
    this.#check(`message ${id} ends once, after it began`, isFirst || takenBack, event)
    if (!seen) return
    seen.end = event
    this.#check(`message ${id} is what was seen of it`, seen.text === textOf(content), [seen.text, content])
    const pids = new Set(seen.text.match(/(?<=\.)\d+/g))
    this.#check(`message ${id} has words of one process`, pids.size <= 1, seen.text)
  }

  #check(what: string, holds: boolean, seen?: unknown): void {
    this.#findings.check(what, holds, seen)
  }
}

/** Whether a process ends something because another one may have its run. */
function isLeaseLost(event: AgentEvent): boolean {
  return 'error' in event && event.error?.code === 'LEASE_LOST'
}
