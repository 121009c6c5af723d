import { budget, EMAIL, guardrails, redaction } from '@troupe/handlers'
import type { AgentHandler } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { memory } from '@troupe/memory'
import type { Workload } from '../measure.ts'
import { TURNS, toolTurns } from '../tool-turns.ts'

/** A handler that passes everything on: what any wrap of model calls and tool calls costs. */
const passing: AgentHandler = {
  name: 'passing',
  wrapModelCall: (ctx, request, next) => next(ctx, request),
  wrapInvokableToolCall: (ctx, input, next) => next(ctx, input),
}

const nothing = () => undefined

const idle: { readonly [name: string]: AgentHandler } = {
  'a handler that passes everything on': passing,
  'budget() with prices alone': budget({ price: () => 0 }),
  'budget() below a limit per run': budget({ limits: [{ per: 'run', tokens: 1e12 }] }),
  'guardrails() that find nothing': guardrails({ output: nothing, toolResults: nothing }),
  'redaction() that finds nothing': redaction({ rules: [EMAIL, { name: 'codename', match: 'Bluebird' }] }),
  'memory() that knows nothing': memory({ store: memoryStore() }).handler,
}

/** What a turn costs more with a handler that has nothing to do. Contract: the hand-written side is the same turn without it. */
export function handlerWorkloads(): readonly Workload[] {
  const alone = toolTurns()
  return Object.entries(idle).map(([name, handler]) => ({
    name: `a turn with ${name}`,
    unit: 'turn',
    units: TURNS,
    handWritten: alone,
    troupe: toolTurns([handler]),
  }))
}
