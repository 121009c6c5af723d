import { describe, expect, it, test } from 'vitest'
import type { Callback } from '../index.ts'
import { agentOf, input } from '../run/run.fixture.ts'
import { checkCallback, startRun } from '../run.ts'

const fine = () => undefined
const callback = (members: object): Callback => ({ name: 'trace', ...members })

describe('a callback is refused where it is given', () => {
  test.each([
    [{ model: { onStop: fine } }, 'callback trace: model: unknown hook onStop; did you mean onEnd?'],
    [{ model: { onStart: fine, onFinish: fine } }, 'callback trace: model: unknown hook onFinish; did you mean onEnd?'],
    [{ run: { onParts: fine } }, 'callback trace: run: unknown hook onParts; did you mean onPart?'],
    [{ run: { onstart: fine } }, 'callback trace: run: unknown hook onstart; did you mean onStart?'],
    [
      { run: { start: fine } },
      'callback trace: run: expected at least one hook; known are onStart, onEnd, onError, onPart',
    ],
    [{ agent: { onStart: 'x' } }, 'callback trace: agent.onStart must be a function, got "x"'],
    [{ agent: fine }, 'callback trace: agent must be an object of hooks, got a function'],
    [{ tools: { onStart: fine } }, 'callback trace: unknown span tools; did you mean tool?'],
    [{ llm: { onEnd: fine } }, 'callback trace: unknown span llm; did you mean model?'],
    [
      { onStart: fine },
      'callback trace: onStart is outside a span; put it into one of run, agent, model, tool: { run: { onStart } }',
    ],
  ])('%o', async (members, message) => {
    const error = expect.objectContaining({ code: 'CONFIG_INVALID', message })
    expect(() => checkCallback(callback(members))).toThrow(error)
    const agent = agentOf('a', async function* () {})
    expect(() => startRun(agent, input, { callbacks: [callback(members)] })).toThrow(error)
  })

  it('also if it is a class', () => {
    class Trace {
      readonly name = 'trace'
      onEnd() {}
    }
    expect(() => checkCallback(new Trace() as Callback)).toThrow(/onEnd is outside a span/)
    class Span {
      onStop() {}
    }
    expect(() => checkCallback({ name: 'trace', run: new Span() } as never)).toThrow(/unknown hook onStop/)
  })
})

it('may have members of its own', () => {
  const own = { flush: fine, rows: [], options: { level: 'info' }, on: fine, onlyOnce: true }
  const every = { onStart: fine, onEnd: fine, onError: fine }
  const spans = { run: { ...every, onPart: fine }, agent: every, model: every, tool: { ...every, helper: fine } }
  expect(() => checkCallback(callback({ ...own, ...spans }))).not.toThrow()
  expect(() => checkCallback(callback({ flush: fine }))).not.toThrow()
  expect(() => checkCallback(callback({ run: undefined, tool: {} }))).not.toThrow()
})
