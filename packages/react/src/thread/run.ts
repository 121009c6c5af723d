/** The time in which an agent or a tool was active, or the moment of a note. */
export interface Span {
  readonly id: string
  readonly kind: 'agent' | 'tool' | 'note'
  readonly name: string
  /** How deep it is nested: agents are even, their calls one more. */
  readonly depth: number
  readonly from: number
  readonly to?: number
  readonly status: 'running' | 'done' | 'waits' | 'failed'
  /** The ids of the messages that an agent wrote. */
  readonly messageIds: readonly string[]
}

/** Tokens, and what they cost in dollars if they have a price. */
export interface Tokens {
  readonly input: number
  readonly output: number
  readonly cost?: number
}

/** What happened in a run, over time. */
export interface Run {
  readonly runId: string
  readonly from: number
  /** When it ended, or the time of its last event. */
  readonly to: number
  readonly status: 'running' | 'done' | 'waits' | 'stopped' | 'failed'
  /** The agents that are active now. */
  readonly active: readonly string[]
  readonly spans: readonly Span[]
  /** The tokens of all its models, once it has ended. */
  readonly tokens?: Tokens
  /** The id of its trace in OpenTelemetry. */
  readonly traceId?: string
}

/** Tokens by the message that they were spent on. */
export type TokensByMessage = Readonly<Record<string, Tokens>>

/**
 * Adds up the tokens of spans, and what they cost, if anything has a price.
 * @example tokensOf([], {}) // { input: 0, output: 0 }
 */
export function tokensOf(spans: readonly Pick<Span, 'messageIds'>[], tokens: TokensByMessage): Tokens {
  return spans
    .flatMap(({ messageIds }) => messageIds)
    .flatMap((id) => tokens[id] ?? [])
    .reduce(sum, { input: 0, output: 0 })
}

/** The sum of tokens. */
export function sum(a: Tokens, b: Tokens): Tokens {
  const cost = a.cost === undefined ? b.cost : a.cost + (b.cost ?? 0)
  return { input: a.input + b.input, output: a.output + b.output, ...(cost !== undefined && { cost }) }
}
