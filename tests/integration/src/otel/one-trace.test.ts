import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Answers, RunResult } from '@troupe/kernel'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Collector, openCollector, type WireSpan } from './collector.fixture.ts'
import { type Harbour, openHarbour } from './harbour.fixture.ts'
import type { Order } from './traced-desk.fixture.ts'

const PROGRAM = fileURLToPath(new URL('./traced-desk.fixture.ts', import.meta.url))
const CALLER = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
const OTHER_CALLER = { traceparent: '00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01' }
const [, TRACE, SPAN] = CALLER.traceparent.split('-')

let folder: string
let collector: Collector
let harbour: Harbour
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-otel-'))
  ;[collector, harbour] = await Promise.all([openCollector(), openHarbour()])
})
afterEach(async () => {
  await Promise.all([collector[Symbol.asyncDispose](), harbour[Symbol.asyncDispose]()])
  rmSync(folder, { recursive: true })
})

type What = Order extends infer One
  ? One extends Order
    ? Omit<One, 'collector' | 'harbour' | 'database'>
    : never
  : never

/** Carries out an order in a process of its own. */
async function inProcess(what: What): Promise<RunResult> {
  const order = { collector: collector.url, harbour: harbour.url, database: join(folder, 'desk.db'), ...what }
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', PROGRAM, JSON.stringify(order)], {
    env: { ...process.env, NODE_OPTIONS: '', OTEL_PROCESS: '1' },
  })
  return JSON.parse(stdout)
}

/** The spans as `parent > name`, sorted. */
function treeOf(spans: readonly WireSpan[]): readonly string[] {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]))
  return spans
    .map(({ parentSpanId, name }) => `${parentSpanId === SPAN ? 'request' : names.get(parentSpanId)} > ${name}`)
    .toSorted()
}

/** The spans of a name, as a `traceparent`. */
function parentsNamed(name: string): readonly string[] {
  return collector.spans.filter((span) => span.name === name).map(({ spanId }) => `00-${TRACE}-${spanId}-01`)
}

/** The answer to every question of a run. */
function answerOf({ interrupts = [] }: RunResult): Answers {
  return Object.fromEntries(interrupts.map(({ id }) => [id, 'This one.']))
}

describe('one trace, over the wire', { timeout: 60_000 }, () => {
  test('goes from a request through a router, a transfer and two sub-agents to their tools, one of an MCP server, and through a question to the answer in another process', async () => {
    const first = await inProcess({ query: 'Help.', ...CALLER })
    expect(first.outcome).toBe('interrupted')
    const second = await inProcess({ resume: answerOf(first) })
    expect(second).toMatchObject({ outcome: 'complete', text: 'Done.' })
    expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]))
    expect(treeOf(collector.spans)).toEqual([
      'execute_tool both > invoke_workflow Both',
      'invoke_agent Desk > chat Desk',
      'invoke_agent Desk > chat Desk',
      'invoke_agent Desk > chat Desk',
      'invoke_agent Desk > execute_tool ask',
      'invoke_agent Desk > execute_tool ask',
      'invoke_agent Desk > execute_tool both',
      'invoke_agent Left > chat Left',
      'invoke_agent Left > chat Left',
      'invoke_agent Left > execute_tool look',
      'invoke_agent Right > chat Right',
      'invoke_agent Right > chat Right',
      'invoke_agent Right > chat Right',
      'invoke_agent Right > execute_tool harbour_departures',
      'invoke_agent Right > execute_tool look',
      'invoke_agent Router > chat Router',
      'invoke_agent Router > execute_tool transfer_to_agent',
      'invoke_workflow Both > invoke_agent Both',
      'invoke_workflow Both > invoke_agent Left',
      'invoke_workflow Both > invoke_agent Right',
      'invoke_workflow Router > invoke_agent Desk',
      'invoke_workflow Router > invoke_agent Desk',
      'invoke_workflow Router > invoke_agent Router',
      'invoke_workflow Router > invoke_workflow Router',
      'request > invoke_workflow Router',
    ])
    expect(collector.spans.find(({ name }) => name === 'chat Router')?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'test',
      'gen_ai.response.finish_reasons': ['tool-calls'],
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
    })
    expect(collector.requests.toSorted()).toEqual(parentsNamed('execute_tool look').toSorted())
    // A server is asked for its tools before a turn; only the call is inside one.
    const [called] = parentsNamed('execute_tool harbour_departures')
    const [around] = parentsNamed('execute_tool both')
    expect(new Set(harbour.requests)).toEqual(new Set([around, called]))
    expect([...collector.metricNames].toSorted()).toEqual([
      'gen_ai.client.operation.duration',
      'gen_ai.client.operation.time_to_first_chunk',
      'gen_ai.client.token.usage',
      'troupe.run.active',
    ])
  })

  test('is linked from the trace of a request that answers the question', async () => {
    const first = await inProcess({ query: 'Help.', ...CALLER })
    const [asked] = collector.spans.splice(0).filter(({ name }) => name === 'invoke_workflow Router')
    await inProcess({ resume: answerOf(first), ...OTHER_CALLER })
    const [answered] = collector.spans.filter(({ name }) => name === 'invoke_workflow Router')
    expect(answered?.traceId).toBe(OTHER_CALLER.traceparent.split('-')[1])
    expect(answered?.links).toMatchObject([{ traceId: TRACE, spanId: asked?.spanId }])
  })

  test('goes on in the process that continues a run whose process was killed, with the steps that were done marked', async () => {
    const killed = inProcess({ query: 'Help.', dies: true, ...CALLER })
    await expect(killed).rejects.toMatchObject({ signal: 'SIGKILL' })
    collector.spans.length = 0
    expect(await inProcess({ continue: true })).toMatchObject({ outcome: 'interrupted' })
    expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]))
    const replayed = collector.spans.filter(({ attributes }) => attributes['troupe.replayed'])
    expect(replayed.map(({ name }) => name).slice(0, 3)).toEqual([
      'chat Router',
      'execute_tool transfer_to_agent',
      'chat Desk',
    ])
    expect(collector.spans.filter(({ name }) => name === 'chat Desk')).toHaveLength(2)
  })
})
