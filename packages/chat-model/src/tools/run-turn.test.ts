import { startRun } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  brief,
  calling,
  expectSound,
  hello,
  idle,
  noUnhandledRejection,
  runAgent,
  streaming,
  tool,
} from '../chat-model.fixture.ts'
import { chatModelAgent } from '../index.ts'

beforeEach(noUnhandledRejection)

const raise = (error: unknown) => (): never => {
  throw error
}

describe('6: parallel by default', () => {
  const names = ['a', 'b', 'c', 'd', 'e']

  /** Tools that wait until they are let go; `running` and `log` say when. */
  function gated() {
    const log: string[] = []
    const gates = new Map(names.map((name) => [name, Promise.withResolvers<void>()]))
    const tools = names.map((name) =>
      tool(name, async () => {
        log.push(`+${name}`)
        await gates.get(name)?.promise
        log.push(`-${name}`)
        return `${name} done`
      }),
    )
    return { log, tools, open: (name: string) => gates.get(name)?.resolve() }
  }

  test('calls start in listed order in one tick', async () => {
    const log: string[] = []
    const tools = names.map((name) =>
      tool(name, async () => {
        log.push(name)
        setImmediate(() => log.push('tick'))
        await idle()
        return name
      }),
    )
    await runAgent([calling(...names), 'Done.'], { tools })
    expect(log.slice(0, 5)).toEqual(names)
  })

  test('calls start in one tick also where a consumer reads slowly', async () => {
    const log: string[] = []
    const tools = names.map((name) =>
      tool(name, async () => {
        log.push(name)
        setImmediate(() => log.push('tick'))
        return name
      }),
    )
    const agent = chatModelAgent({ name: 'a', model: scriptedModel([calling(...names), 'Done.']), tools })
    for await (const _ of startRun(agent, hello)) await idle()
    expect(log.slice(0, 5)).toEqual(names)
  })

  test('results enter the history in listed order whatever order they settle in', async () => {
    const { tools, open } = gated()
    const running = runAgent([calling(...names), 'Done.'], { tools })
    for (const name of names.toReversed()) {
      await idle()
      open(name)
    }
    const { requests, toolEnds } = await running
    expect(brief(requests[1]?.messages).slice(2)).toEqual(names.map((name) => `tool ${name} done`))
    expect(toolEnds).toHaveLength(5)
  })

  test('toolConcurrency 1 runs them one after the other, in listed order', async () => {
    const { log, tools, open } = gated()
    const running = runAgent([calling(...names), 'Done.'], { tools, toolConcurrency: 1 })
    for (const name of names.toReversed()) open(name)
    await running
    expect(log).toEqual(names.flatMap((name) => [`+${name}`, `-${name}`]))
  })

  test('toolConcurrency limits how many run at once; a free place is taken by the next in the list', async () => {
    const { log, tools, open } = gated()
    const running = runAgent([calling(...names), 'Done.'], { tools, toolConcurrency: 2 })
    await idle()
    expect(log).toEqual(['+a', '+b'])
    open('b')
    await idle()
    expect(log).toEqual(['+a', '+b', '-b', '+c'])
    for (const name of names) open(name)
    await running
    expect(log.filter((line) => line.startsWith('+'))).toEqual(names.map((name) => `+${name}`))
  })

  test('a tool that fails does not disturb its siblings', async () => {
    const { toolEnds } = await runAgent([calling('a', 'b'), 'Done.'], {
      tools: [tool('a', raise(new Error('no'))), tool('b')],
    })
    expect(toolEnds.map(({ callId, status }) => `${callId} ${status}`).toSorted()).toEqual(['a failed', 'b complete'])
  })

  test('the same tool may be called several times in a turn', async () => {
    const seen: unknown[] = []
    const turn = { toolCalls: [1, 2, 3].map((n) => ({ id: `c${n}`, name: 't', arguments: { n } })) }
    const { toolEnds } = await runAgent([turn, 'Done.'], { tools: [tool('t', (value) => void seen.push(value))] })
    expect(seen).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
    expect(toolEnds.map(({ callId }) => callId)).toEqual(['c1', 'c2', 'c3'])
  })
})

describe('streaming tools', () => {
  const deltas = (events: readonly { type: string; delta?: unknown }[]) =>
    events.flatMap((event) => (event.type === 'tool-delta' ? [event.delta] : []))

  test('show their chunks as tool-delta; without a returned result their text is the result', async () => {
    const { events, toolEnds } = await runAgent([calling('s'), 'Done.'], { tools: [streaming('s', ['Sun', 'ny.'])] })
    expect(deltas(events)).toEqual(['Sun', 'ny.'])
    expect(toolEnds).toMatchObject([{ content: 'Sunny.', status: 'complete' }])
  })

  test('a returned result counts instead of the chunks', async () => {
    const s = streaming('s', [], {
      async *stream() {
        yield 'working…'
        return { content: 'Result.', display: 'Shown.' }
      },
    })
    const { events, toolEnds } = await runAgent([calling('s'), 'Done.'], { tools: [s] })
    expect(deltas(events)).toEqual(['working…'])
    expect(toolEnds).toMatchObject([{ content: 'Result.', display: 'Shown.' }])
  })

  test('a stream that fails shows what came and answers with the failure', async () => {
    const s = streaming('s', [], {
      async *stream() {
        yield 'half '
        throw new Error('cut off')
      },
    })
    const { events, toolEnds } = await runAgent([calling('s'), 'Done.'], { tools: [s] })
    expect(deltas(events)).toEqual(['half '])
    expect(toolEnds).toMatchObject([{ status: 'failed', error: { code: 'TOOL_FAILED' } }])
  })

  test('a stream of chunks that are invalid fails the call', async () => {
    const s = streaming('s', [1, null] as never)
    const finished = await runAgent([calling('s'), 'Done.'], { tools: [s] })
    expect(finished.toolEnds).toMatchObject([{ status: 'failed' }])
    expectSound(finished)
  })

  test('a stream that never ends is closed when the run is left', async () => {
    let closed = false
    const s = streaming('s', [], {
      async *stream() {
        try {
          for (;;) yield 'more'
        } finally {
          closed = true
        }
      },
    })
    const controller = new AbortController()
    let seen = 0
    const callbacks = [{ name: 'c', run: { onPart: () => void (++seen === 40 && controller.abort()) } }]
    const { end } = await runAgent([calling('s')], { tools: [s] }, hello, { signal: controller.signal, callbacks })
    await idle()
    expect([end?.outcome, closed]).toEqual(['cancelled', true])
  })
})
