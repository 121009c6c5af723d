import { type AgentEvent, type Clock, textOf } from '@troupe/kernel'
import picocolors from 'picocolors'

/** Where the transcript goes. */
export interface Page {
  write(text: string): unknown
}

/** How a transcript looks. */
export interface PrintOptions {
  readonly color: boolean
  readonly clock: Pick<Clock, 'now'>
}

/** As much of a call and its result as one wants to read. */
const MAX_LINES = 8
const MAX_ARGUMENTS = 200

/** Prints a run as it streams: who speaks, the text, tool calls with arguments and results, runs inside calls beside a bar, tokens and time. */
export function printer(page: Page, { color, clock }: PrintOptions): (event: AgentEvent) => void {
  const { bold, cyan, dim, green, red, yellow } = picocolors.createColors(color)
  const began = clock.now()
  const calls = new Map<string, { readonly since: number; readonly depth: number }>()
  const depths = new Map<string, number>()
  let modelCalls = 0
  /** The message whose text stands at the end of the page. */
  let open: string | undefined
  /** The last attempt was dropped; whether there is another one is known when it begins. */
  let failed = false

  const depthOf = ({ runId, parentCallId }: AgentEvent) => {
    const known = depths.get(runId)
    if (known !== undefined) return known
    const depth = parentCallId === undefined ? 0 : (calls.get(parentCallId)?.depth ?? 0) + 1
    depths.set(runId, depth)
    return depth
  }
  const margin = (event: AgentEvent) => `  ${dim('│')} `.repeat(depthOf(event))
  const line = (event: AgentEvent, text: string, style: (text: string) => string) => {
    const lines = text.split('\n').map((each) => `${margin(event)}${each === '' ? '' : style(each)}\n`)
    page.write(`${open === undefined ? '' : '\n'}${lines.join('')}`)
    open = undefined
  }

  return (event) => {
    switch (event.type) {
      case 'agent-start':
        return line(event, `● ${[...event.runPath, event.agentName].join(' › ')}`, bold)
      case 'message-start':
        if (failed) line(event, '  ↺ that attempt failed; once more', yellow)
        failed = false
        return
      case 'text-delta': {
        const { messageId, delta } = event
        const before = open === messageId ? '' : `${open === undefined ? '' : '\n'}${margin(event)}  `
        page.write(before + delta.replaceAll('\n', `\n${margin(event)}  `))
        open = messageId
        return
      }
      case 'message-end':
        modelCalls++
        if (open === event.message.id) page.write('\n')
        if (open === event.message.id) open = undefined
        failed = event.dropped ?? false
        return
      case 'tool-start': {
        const { callId, name, arguments: args } = event
        calls.set(callId, { since: clock.now(), depth: depthOf(event) })
        const shown = args.length > MAX_ARGUMENTS ? `${args.slice(0, MAX_ARGUMENTS)}…` : args
        return line(event, `  → ${name} ${shown}`, cyan)
      }
      case 'tool-end': {
        const took = `(${clock.now() - (calls.get(event.callId)?.since ?? began)} ms)`
        const [mark, style] = event.status === 'failed' ? ['✗', red] : ['←', green]
        const text = clipped(event.display ?? textOf(event.content))
        return line(event, `  ${mark} ${text.join('\n    ')} ${dim(took)}`, style)
      }
      case 'error':
        return line(event, `  ✗ ${event.error.code}: ${event.error.message}`, red)
      case 'run-end': {
        if (event.parentCallId !== undefined) return
        const { inputTokens, outputTokens } = event.usage
        const mark = event.outcome === 'complete' ? green('✔ complete') : red(`✗ ${event.outcome}`)
        const models = `${modelCalls} model call${modelCalls === 1 ? '' : 's'}`
        const summary = `${mark} · ${models} · ${inputTokens} tokens in, ${outputTokens} out · ${clock.now() - began} ms`
        return line(event, summary, dim)
      }
    }
  }
}

function clipped(text: string): readonly string[] {
  const lines = text.split('\n')
  return lines.length <= MAX_LINES
    ? lines
    : [...lines.slice(0, MAX_LINES - 1), `… ${lines.length - MAX_LINES + 1} more`]
}
