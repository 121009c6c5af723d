import { context, metrics, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, type FlowRunner, parallel, runner, setSubAgents } from '@troupe/flow'
import {
  type AgentHandler,
  type Answers,
  defineTool,
  type ModelRequest,
  type Store,
  type ThreadRef,
  type Tool,
} from '@troupe/kernel'
import { mcpTools } from '@troupe/mcp'
import { otel } from '@troupe/otel'
import { sqliteStore } from '@troupe/store-sqlite'
import { type ScriptedCall, type ScriptedTurn, scriptedModel } from '@troupe/testkit'

const ANN: ThreadRef = { app: 'test', user: 'ann', threadId: 't1' }

/** What a process does with the thread: it asks, answers, or goes on with the run of a process that died. */
export type Order = {
  readonly collector: string
  readonly harbour: string
  readonly database: string
  readonly traceparent?: string
  /** Dies in the tool `look`, once its request was answered. */
  readonly dies?: boolean
} & ({ readonly query: string } | { readonly resume: Answers } | { readonly continue: true })

/** What the desk works with. */
interface DeskParts {
  readonly store: Store
  /** Where its tool `look` sends a request. */
  readonly collector: string
  /** The tools of an MCP server. */
  readonly harbour: AgentHandler
  readonly dies: boolean
}

/**
 * A router, a specialist, and below it two sub-agents side by side, each with a tool that sends a request, one with an MCP tool too; and
 * a tool that asks.
 */
function tracedDesk({ store, collector, harbour, dies }: DeskParts): FlowRunner {
  const tracing = otel()
  const look = defineTool({
    name: 'look',
    description: 'Looks it up.',
    parameters: { type: 'object' },
    effect: 'idempotent',
    invoke: async () => {
      const { status } = await fetched(`${collector}/looked-up`)
      if (dies) process.kill(process.pid, 'SIGKILL')
      return `status ${status}`
    },
  })
  const ask = defineTool({
    name: 'ask',
    description: 'Asks a person.',
    parameters: { type: 'object' },
    invoke: (_, ctx) => ctx.interrupt<string>({ reason: 'input', message: 'Which one?' }),
  })
  /** Calls the first of its tools that has no result yet; with all of them it answers. */
  const agentOf = (name: string, tools: readonly Tool[], calls: readonly ScriptedCall[], more: AgentHandler[] = []) => {
    const turn = ({ messages }: ModelRequest): ScriptedTurn => {
      const next = calls.find(
        (call) => !messages.some((message) => message.role === 'tool' && message.name === call.name),
      )
      return next ? { toolCalls: [next] } : 'Done.'
    }
    const model = scriptedModel([turn], { name: `test:${name}`, repeat: true })
    return chatModelAgent({ name, description: `${name}.`, model, tools, handlers: [tracing.handler, ...more] })
  }
  const left = agentOf('Left', [look], [{ name: 'look' }])
  const ferries = { name: 'harbour_departures', arguments: { to: 'Vitsund' } }
  const right = agentOf('Right', [look], [{ name: 'look' }, ferries], [harbour])
  const both = agentTool(parallel({ name: 'Both', agents: [left, right] }), { name: 'both' })
  const desk = agentOf('Desk', [both, ask], [{ name: 'both', arguments: { request: 'Look.' } }, { name: 'ask' }])
  const router = agentOf('Router', [], [{ name: 'transfer_to_agent', arguments: { agent_name: 'Desk' } }])
  return runner({
    agent: setSubAgents(router, [desk]),
    store,
    callbacks: [tracing],
    limits: { leaseMs: 1_000, pollMs: 50 },
  })
}

/** Sends a request as an instrumented client does: with the active span as its parent. */
function fetched(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  propagation.inject(context.active(), headers, { set: (carrier, key, value) => carrier.set(key, value) })
  return fetch(url, { ...init, headers })
}

/** Carries out an order, exports its spans and metrics, and prints the result. */
async function main(order: Order): Promise<void> {
  const { collector, database, traceparent, dies = false } = order
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const exporter = new OTLPTraceExporter({ url: `${collector}/v1/traces` })
  // A process that is going to be killed has no time for a batch.
  const provider = new TracerProvider({
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: 1 })],
  })
  trace.setGlobalTracerProvider(provider)
  const metricExporter = new OTLPMetricExporter({ url: `${collector}/v1/metrics` })
  const meterProvider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter: metricExporter })],
  })
  metrics.setGlobalMeterProvider(meterProvider)
  const store = sqliteStore({ path: database })
  const harbour = mcpTools({ servers: { harbour: { url: order.harbour, trusted: true, fetch: fetched } } })
  const desk = tracedDesk({ store, collector, harbour, dies })
  const caller = propagation.extract(context.active(), traceparent === undefined ? {} : { traceparent })
  const session = { session: ANN }
  const run = context.with(caller, () => {
    if ('query' in order) return desk.query(order.query, session)
    return 'resume' in order ? desk.resume(order.resume, session) : desk.continue(ANN, { busy: 'queue' })
  })
  const { outcome, text, interrupts } = await run
  await harbour[Symbol.asyncDispose]()
  await Promise.all([provider.shutdown(), meterProvider.shutdown(), store[Symbol.asyncDispose]()])
  process.stdout.write(JSON.stringify({ outcome, text, interrupts }))
}

const [, , order] = process.argv
if (process.env.OTEL_PROCESS && order) await main(JSON.parse(order))
