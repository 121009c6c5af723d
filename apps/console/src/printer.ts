import { type AgentEvent, type Clock, type EventOf, textOf } from '@troupe/kernel'
import picocolors from 'picocolors'

/** The output of a transcript. */
export interface Page {
  write(text: string): unknown
}

/** Options of a transcript. */
export interface PrintOptions {
  readonly color: boolean
  readonly clock: Pick<Clock, 'now'>
}

/** The most lines of a result and characters of arguments that are printed. */
const MAX_LINES = 8
const MAX_ARGUMENTS = 200

/** Prints a run while it streams: agents, their text, tool calls with arguments and results, nested runs behind a bar, tokens and time. */
export function printer(page: Page, options: PrintOptions): (event: AgentEvent) => void {
  const transcript = new Transcript(page, options)
  return (event) => transcript.print(event)
}

class Transcript {
  readonly #page: Page
  readonly #clock: PrintOptions['clock']
  readonly #colors: ReturnType<typeof picocolors.createColors>
  readonly #startedAt: number
  readonly #calls = new Map<string, { readonly startedAt: number; readonly depth: number }>()
  readonly #depths = new Map<string, number>()
  #modelCalls = 0
  /** The message whose text is at the end of the page. */
  #open: string | undefined
  /** Whether the last attempt was dropped; another one is only known when it begins. */
  #failed = false

  constructor(page: Page, { color, clock }: PrintOptions) {
    this.#page = page
    this.#clock = clock
    this.#colors = picocolors.createColors(color)
    this.#startedAt = clock.now()
  }

  print(event: AgentEvent): void {
    const { bold, cyan, red, yellow } = this.#colors
    switch (event.type) {
      case 'agent-start':
        this.#line(event, `● ${[...event.runPath, event.agentName].join(' › ')}`, bold)
        break
      case 'message-start':
        if (this.#failed) this.#line(event, '  ↺ that attempt failed; once more', yellow)
        this.#failed = false
        break
      case 'text-delta':
        this.#text(event)
        break
      case 'message-end':
        this.#endMessage(event)
        break
      case 'tool-start':
        this.#calls.set(event.callId, { startedAt: this.#clock.now(), depth: this.#depthOf(event) })
        this.#line(event, `  → ${event.name} ${shortened(event.arguments)}`, cyan)
        break
      case 'tool-end':
        if (event.status !== 'dropped') this.#result(event)
        break
      case 'error':
        this.#line(event, `  ✗ ${event.error.code}: ${event.error.message}`, red)
        break
      case 'run-end':
        if (event.parentCallId === undefined) this.#summary(event)
    }
  }

  #text(event: EventOf<'text-delta'>): void {
    const margin = `${this.#margin(event)}  `
    const newLine = this.#open === undefined ? margin : `\n${margin}`
    const before = this.#open === event.messageId ? '' : newLine
    this.#page.write(before + event.delta.replaceAll('\n', `\n${margin}`))
    this.#open = event.messageId
  }

  #endMessage(event: EventOf<'message-end'>): void {
    const { message, dropped = false } = event
    this.#modelCalls++
    this.#failed = dropped
    if (message.partial) this.#line(event, '  … cut off here', this.#colors.yellow)
    if (this.#open !== message.id) return
    this.#page.write('\n')
    this.#open = undefined
  }

  #result(event: EventOf<'tool-end'>): void {
    const { dim, green, red } = this.#colors
    const took = this.#clock.now() - (this.#calls.get(event.callId)?.startedAt ?? this.#startedAt)
    const [mark, style] = event.status === 'failed' ? ['✗', red] : ['←', green]
    const text = firstLines(event.display ?? textOf(event.content)).join('\n    ')
    this.#line(event, `  ${mark} ${text} ${dim(`(${took} ms)`)}`, style)
  }

  #summary(event: EventOf<'run-end'>): void {
    const { dim, green, red } = this.#colors
    const { inputTokens, outputTokens } = event.usage
    const parts = [
      event.outcome === 'complete' ? green('✔ complete') : red(`✗ ${event.outcome}`),
      `${this.#modelCalls} model call${this.#modelCalls === 1 ? '' : 's'}`,
      `${inputTokens} tokens in, ${outputTokens} out`,
      `${this.#clock.now() - this.#startedAt} ms`,
    ]
    this.#line(event, parts.join(' · '), dim)
  }

  #line(event: AgentEvent, text: string, style: (text: string) => string): void {
    const lines = text.split('\n').map((each) => `${this.#margin(event)}${each === '' ? '' : style(each)}\n`)
    this.#page.write(`${this.#open === undefined ? '' : '\n'}${lines.join('')}`)
    this.#open = undefined
  }

  #margin(event: AgentEvent): string {
    return `  ${this.#colors.dim('│')} `.repeat(this.#depthOf(event))
  }

  #depthOf({ runId, parentCallId }: AgentEvent): number {
    const known = this.#depths.get(runId)
    if (known !== undefined) return known
    const depth = parentCallId === undefined ? 0 : (this.#calls.get(parentCallId)?.depth ?? 0) + 1
    this.#depths.set(runId, depth)
    return depth
  }
}

function shortened(args: string): string {
  return args.length > MAX_ARGUMENTS ? `${args.slice(0, MAX_ARGUMENTS)}…` : args
}

function firstLines(text: string): readonly string[] {
  const lines = text.split('\n')
  if (lines.length <= MAX_LINES) return lines
  return [...lines.slice(0, MAX_LINES - 1), `… ${lines.length - MAX_LINES + 1} more`]
}
