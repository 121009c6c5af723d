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

/** Prints a run as it streams: who speaks, the text, tool calls with arguments and results, tokens and time. */
export function printer(page: Page, { color, clock }: PrintOptions): (event: AgentEvent) => void {
  const { bold, cyan, dim, green, red, yellow } = picocolors.createColors(color)
  const began = clock.now()
  const tools = new Map<string, number>()
  let modelCalls = 0
  let open = false
  /** The last attempt was dropped; whether there is another one is known when it begins. */
  let failed = false
  const line = (text: string) => {
    page.write(`${open ? '\n' : ''}${text}\n`)
    open = false
  }
  return (event) => {
    switch (event.type) {
      case 'agent-start':
        return line(bold(`● ${[...event.runPath, event.agentName].join(' › ')}`))
      case 'message-start':
        if (failed) line(yellow('  ↺ that attempt failed; once more'))
        failed = false
        return
      case 'text-delta':
        page.write(open ? event.delta : `  ${event.delta}`)
        open = true
        return
      case 'message-end':
        modelCalls++
        if (open) page.write('\n')
        open = false
        failed = event.dropped ?? false
        return
      case 'tool-start':
        tools.set(event.callId, clock.now())
        return line(cyan(`  → ${event.name} ${event.arguments}`))
      case 'tool-end': {
        const took = dim(`(${clock.now() - (tools.get(event.callId) ?? began)} ms)`)
        const text = event.display ?? textOf(event.content)
        return line(event.status === 'failed' ? red(`  ✗ ${text} ${took}`) : green(`  ← ${text} ${took}`))
      }
      case 'error':
        return line(red(`  ✗ ${event.error.code}: ${event.error.message}`))
      case 'run-end': {
        const { inputTokens, outputTokens } = event.usage
        const mark = event.outcome === 'complete' ? green('✔ complete') : red(`✗ ${event.outcome}`)
        const calls = `${modelCalls} model call${modelCalls === 1 ? '' : 's'}`
        return line(
          dim(`${mark} · ${calls} · ${inputTokens} tokens in, ${outputTokens} out · ${clock.now() - began} ms`),
        )
      }
    }
  }
}
