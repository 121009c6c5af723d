import type { ErrorInfo, Json, ToolCallResult, Usage } from '@troupe/kernel'
import type { AgentDefinition } from '../define/define-agent.ts'

/** Why an agent stopped. */
export type SubagentReason =
  | 'goal'
  | 'max-turns'
  | 'timeout'
  | 'max-tokens'
  | 'max-tool-calls'
  | 'depth'
  | 'aborted'
  | 'error'

/** The outcome of a call of an agent: the `data` of its result. Contract: plain JSON. */
export type SubagentStatus<Output = Json> = {
  readonly agent: string
  readonly reason: SubagentReason
  /** Whether there is a result in spite of the reason, mostly from the grace turn. */
  readonly recovered: boolean
  /** Its model calls, the grace turn included. */
  readonly turns: number
  /** Its tool calls, without those of agents below it. */
  readonly toolCalls: number
  /** Its working time, without the time spent waiting for a person. */
  readonly durationMs: number
  /** Its own tokens. */
  readonly usage: Usage
  /** The tokens of the agents below it. */
  readonly childrenUsage: Usage
  readonly output?: Output
  /** The error, if there is no result. */
  readonly error?: ErrorInfo
  /** The last text of an agent that submitted no result. */
  readonly lastWords?: string
}

const LIMITS: { readonly [reason in SubagentReason]?: string } = {
  'max-turns': 'its limit of turns',
  timeout: 'its limit of time',
  'max-tokens': 'its limit of tokens',
  'max-tool-calls': 'its limit of tool calls',
  depth: 'the limit of depth',
}

/** Gives an output as text. */
export function textOfOutput(output: Json): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}

/** Makes the result of a call: for the model, for a person, for a program. */
export function resultOf({ name, displayName = name }: AgentDefinition, status: SubagentStatus): ToolCallResult {
  const { error, output, lastWords } = status
  const note = noteOf(status)
  const title = `**${displayName}**: ${facts(status)}`
  if (output !== undefined && !error) {
    const text = textOfOutput(output)
    const shown = typeof output === 'string' ? output : `\`\`\`json\n${JSON.stringify(output, null, 2)}\n\`\`\``
    return {
      content: note === '' ? text : `${text}\n\n(${note})`,
      display: [title, ...(note === '' ? [] : [note]), shown].join('\n\n'),
      data: status,
    }
  }
  const message = error?.message ?? note
  const words = lastWords === undefined ? [] : [`Its last words: ${lastWords}`]
  return {
    content: [`Error: ${message}`, ...words].join('\n\n'),
    display: [title, message, ...words].join('\n\n'),
    data: status,
    ...(error && { error }),
  }
}

function noteOf({ reason, recovered }: SubagentStatus): string {
  const limit = LIMITS[reason]
  return recovered && limit !== undefined ? `The agent stopped at ${limit}; this is what it had.` : ''
}

function facts({ reason, turns, durationMs }: SubagentStatus): string {
  return `${reason}, ${turns} ${turns === 1 ? 'turn' : 'turns'}, ${durationMs} ms`
}
