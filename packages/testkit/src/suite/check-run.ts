import type { AgentEvent, EventOf } from '@troupe/kernel'
import { demand, demandEqual } from '../fault.ts'

/** A run has its brackets, and each agent in it. */
export function checkRun(events: readonly AgentEvent[]): void {
  const runId = events[0]?.runId
  const own = events.filter((event) => event.runId === runId).map(({ type }) => type)
  const brackets = own.filter((type) => type === 'run-start' || type === 'run-end')
  demandEqual(brackets, ['run-start', 'run-end'], 'The run does not start and end once')
  demand(own[0] === 'run-start', `The run begins with ${own[0]}, not with run-start`)
  demand(own.at(-1) === 'run-end', `The run ends with ${own.at(-1)}, not with run-end`)
  const starts = own.filter((type) => type === 'agent-start').length
  const ends = own.filter((type) => type === 'agent-end').length
  demand(starts > 0, 'The run shows no agent-start')
  demand(ends === starts, `The run shows ${starts} agent-start and ${ends} agent-end, where each start has its end`)
}

/** Each message begins, grows and ends once. */
export function checkMessages(events: readonly AgentEvent[]): void {
  checkPartial(events)
  const open = new Set<string>()
  const ended = new Set<string>()
  for (const event of events) {
    if (event.type === 'message-start') {
      const begun = open.has(event.messageId) || ended.has(event.messageId)
      demand(!begun, `The agent begins message ${event.messageId} twice`)
      open.add(event.messageId)
    }
    if (event.type === 'text-delta' || event.type === 'reasoning-delta' || event.type === 'tool-call-start') {
      demand(
        open.has(event.messageId),
        `The agent shows ${event.type} for message ${event.messageId}, which is not open`,
      )
    }
    if (event.type === 'message-end') {
      demand(open.delete(event.message.id), `The agent ends message ${event.message.id}, which is not open`)
      ended.add(event.message.id)
    }
  }
  demand(open.size === 0, `The agent never ends message ${[...open].join(', ')}`)
}

/** A message that was cut off has no calls: they never run. */
export function checkPartial(events: readonly AgentEvent[]): void {
  for (const event of events) {
    if (event.type !== 'message-end' || event.dropped || !event.message.partial) continue
    const { id, toolCalls = [] } = event.message
    demand(toolCalls.length === 0, `The agent ends message ${id}, which is partial, with calls, which never run`)
  }
}

/** Each call is asked for, started and answered once, unless it is excused. */
export function checkToolCalls(events: readonly AgentEvent[]): void {
  const calls = new CheckedCalls()
  for (const event of events) calls.add(event)
}

class CheckedCalls {
  /** Calls of messages. */
  readonly #asked = new Set<string>()
  /** Calls that the model began to write, though they may be in no message. */
  readonly #written = new Set<string>()
  readonly #started = new Set<string>()
  readonly #answered = new Set<string>()

  add(event: AgentEvent): void {
    switch (event.type) {
      case 'message-end':
        if (!event.dropped) for (const { id } of event.message.toolCalls ?? []) this.#asked.add(id)
        break
      case 'tool-call-start':
        this.#written.add(event.callId)
        break
      case 'tool-start':
        this.#start(event.callId)
        break
      case 'tool-end':
        this.#answer(event.callId, event.status === 'dropped')
        break
      case 'run-end':
        if (event.parentCallId === undefined) this.#end(event)
    }
  }

  #start(callId: string): void {
    demand(this.#asked.has(callId), `The agent starts call ${callId}, which no message of it asked for`)
    demand(!this.#started.has(callId), `The agent starts call ${callId} twice`)
    this.#started.add(callId)
  }

  #answer(callId: string, dropped: boolean): void {
    demand(!this.#answered.has(callId), `The agent answers call ${callId} twice`)
    const known = this.#asked.has(callId) || (dropped && this.#written.has(callId))
    demand(known, `The agent answers call ${callId}, which no message of it asked for`)
    this.#answered.add(callId)
  }

  #end({ openCallIds = [], interrupts = [] }: EventOf<'run-end'>): void {
    const excused = [...openCallIds, ...interrupts.flatMap(({ callId }) => callId ?? [])]
    for (const id of this.#asked) {
      demand(this.#answered.has(id) || excused.includes(id), `The agent ends its run without an answer to call ${id}`)
    }
  }
}
