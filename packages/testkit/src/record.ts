import { type AgentEvent, type EventOf, type Run, textOf } from '@troupe/kernel'

/** The events of a run. */
export interface Recording {
  readonly events: readonly AgentEvent[]
  /** One readable line per event; compare these for a readable diff. */
  readonly lines: readonly string[]
  /** The last event, if the run came to its end. */
  readonly end: EventOf<'run-end'> | undefined
}

/**
 * Reads a run to its end, also one that fails; `end` says how it ended.
 * Contract: throws what a stream throws, and of a run only that it never began.
 * @example expect((await record(startRun(agent, 'Hi'))).lines).toContain('greeter run-start')
 */
export async function record(source: Run | AsyncIterable<AgentEvent>): Promise<Recording> {
  const events: AgentEvent[] = []
  const run = 'eventsWithoutThrowing' in source ? source : undefined
  for await (const event of run?.eventsWithoutThrowing() ?? source) events.push(event)
  if (run && events.length === 0) await run
  const last = events.at(-1)
  return { events, lines: transcript(events), end: last?.type === 'run-end' ? last : undefined }
}

/**
 * Events as readable lines: who, what, and what about it; nested runs are indented.
 * @example transcript(events) // ['greeter text-delta "Hello"', …]
 */
export function transcript(events: readonly AgentEvent[]): string[] {
  const depths = new Map<string, number>()
  return events.map((event) => {
    const { runId, parentRunId, runPath, agentName, type } = event
    const depth = depths.get(runId) ?? (parentRunId === undefined ? 0 : (depths.get(parentRunId) ?? 0) + 1)
    depths.set(runId, depth)
    const who = [...runPath, agentName].join('/')
    return `${'  '.repeat(depth)}${[who, type, ...about(event)].join(' ')}`
  })
}

function about(event: AgentEvent): string[] {
  switch (event.type) {
    case 'message-start':
      return event.structured ? ['structured'] : []
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-call-delta':
      return [JSON.stringify(event.delta)]
    case 'tool-call-start':
      return [event.name]
    case 'tool-call-end':
      return [`${event.call.name}(${event.call.arguments})`]
    case 'message-end': {
      const calls = (event.message.toolCalls ?? []).map((call) => `${call.name}(${call.arguments})`)
      return [
        ...(event.dropped ? ['dropped'] : event.message.partial ? ['partial'] : []),
        JSON.stringify(textOf(event.message.content)),
        ...calls,
      ]
    }
    case 'tool-start':
      return [`${event.name}(${event.arguments})`]
    case 'tool-delta':
      return [JSON.stringify(event.delta)]
    case 'tool-end':
      return [event.name, event.status, JSON.stringify(textOf(event.content))]
    case 'state-delta':
      return [JSON.stringify(event.set), ...(event.removed.length > 0 ? [`without ${event.removed.join(', ')}`] : [])]
    case 'action':
      return [JSON.stringify(event.action)]
    case 'custom':
      return [event.name, JSON.stringify(event.data)]
    case 'error':
      return [event.error.code, JSON.stringify(event.error.message)]
    case 'agent-end':
      return [event.outcome]
    case 'run-end':
      return [event.outcome, JSON.stringify(event.text)]
    default:
      return []
  }
}
