import { type Agent, JOURNAL, type Json, KernelError, say } from '@troupe/kernel'
import { runNested, startRun } from '@troupe/kernel/run'
import { describe, expect, test } from 'vitest'
import { record, type SavedTape, type Tape, type TapeOptions, tape } from '../index.ts'
import { testOptions } from '../suite/test-options.ts'

/** An agent of steps; `work` counts what was done. */
function agentOf(names: readonly string[], work: (name: string) => Json = (name) => name): Agent {
  return {
    name: 'reader',
    description: 'Does its steps and says what they gave.',
    recordsSteps: true,
    async *run(_input, ctx) {
      for (const name of names) yield* say(ctx, String(await ctx.perform(name, async () => work(name))))
    },
  }
}

/** Runs an agent on a tape; gives what was said, or the code of the error. */
async function play(on: Tape, agent: Agent, runId?: string): Promise<readonly unknown[]> {
  const { prepare } = on
  const { events, end } = await record(startRun(agent, 'Hi', { prepare, ...(runId !== undefined && { runId }) }))
  const texts = events.flatMap((event) => (event.type === 'message-end' ? [event.message.content] : []))
  return [...texts, ...(end?.error ? [end.error.code] : [])]
}

const file = (on: Tape): SavedTape => JSON.parse(JSON.stringify(on))
const options: Required<TapeOptions> = { upTo: 'a#1', live: true }
const recorded: SavedTape = { format: 1, runId: 'r', steps: [{ step: 'a#1', value: { value: 'A' } }] }
testOptions('tape', (given: TapeOptions) => tape(recorded, given), options)

const refused = (name: string): never => {
  throw new Error(`${name} must not be done again`)
}

describe('a recording', () => {
  test('has the steps of its run, in the order in which they were done, and the id of the run', async () => {
    const on = tape()
    expect([on.runId, on.steps]).toEqual(['', []])
    expect(await play(on, agentOf(['a', 'b']), 'r1')).toEqual(['a', 'b'])
    expect(on.runId).toBe('r1')
    expect(file(on)).toEqual({
      format: 1,
      runId: 'r1',
      steps: [
        { step: 'a#1', value: { value: 'a' } },
        { step: 'b#1', value: { value: 'b' } },
      ],
    })
  })

  test('serves one run', async () => {
    const on = tape()
    await play(on, agentOf(['a']), 'r1')
    expect(await play(on, agentOf(['a']), 'r2')).toEqual(['TAPE_USED'])
    expect(() => on.prepare({} as never)).toThrow('tape: serves one run, which was r1')
    expect([on.runId, on.steps]).toEqual(['r1', ['a#1']])
  })

  test('refuses a record that is not JSON, and the run fails', async () => {
    const agent: Agent = {
      ...agentOf([]),
      async *run(_input, ctx) {
        const at = await ctx.get(JOURNAL)?.perform(`${ctx.runId}/at`, async () => ({ at: new Date(0) }) as never)
        yield* say(ctx, String(at))
      },
    }
    const on = tape()
    const { end } = await record(startRun(agent, 'Hi', { prepare: on.prepare }))
    expect(end?.error).toMatchObject({
      code: 'VALIDATION_FAILED',
      message: 'tape: the record of at is not plain JSON at .at',
    })
    expect(on.steps).toEqual([])
  })

  test('is not changed by what happens to its values later', async () => {
    const value = { list: [1] }
    const agent: Agent = {
      ...agentOf([]),
      async *run(_input, ctx) {
        const given = await ctx.perform('a', async () => value)
        value.list.push(2)
        yield* say(ctx, JSON.stringify(given))
      },
    }
    const on = tape()
    expect(await play(on, agent)).toEqual(['{"list":[1]}'])
    expect(file(on).steps).toEqual([{ step: 'a#1', value: { value: { list: [1] } } }])
  })
})

describe('a replay', () => {
  const recording = async (names: readonly string[], runId = 'r1') => {
    const on = tape()
    await play(on, agentOf(names), runId)
    return file(on)
  }

  test('gives every step its record and does nothing', async () => {
    const again = tape(await recording(['a', 'b']))
    expect([again.runId, again.steps]).toEqual(['r1', ['a#1', 'b#1']])
    expect(await play(again, agentOf(['a', 'b'], refused), again.runId)).toEqual(['a', 'b'])
    expect(again.unused).toEqual([])
  })

  test('has the same events if it has the run id of the recording', async () => {
    const [first, second] = [tape(), tape(await recording(['a', 'b']))]
    const runs = [first, second].map(({ prepare }) =>
      record(startRun(agentOf(['a', 'b']), 'Hi', { prepare, runId: 'r1' })),
    )
    const [events, again] = (await Promise.all(runs)).map((one) => one.events)
    expect(again).toEqual(events)
  })

  test('works under another run id, which its steps and its file then have', async () => {
    const again = tape(await recording(['a', 'b'], 'r1'))
    expect(await play(again, agentOf(['a', 'b'], refused), 'r2')).toEqual(['a', 'b'])
    expect(file(again)).toEqual({ ...(await recording(['a', 'b'], 'r2')) })
  })

  test('goes on where the tape ends, and records what it does', async () => {
    const again = tape(await recording(['a']))
    const done: string[] = []
    const agent = agentOf(['a', 'b'], (name) => `${name} ${done.push(name)}`)
    expect(await play(again, agent)).toEqual(['a', 'b 1'])
    expect(file(again).steps).toEqual([
      { step: 'a#1', value: { value: 'a' } },
      { step: 'b#1', value: { value: 'b 1' } },
    ])
  })

  test('goes on from the step that is named', async () => {
    const again = tape(await recording(['a', 'b', 'c']), { upTo: 'b#1' })
    expect(again.steps).toEqual(['a#1'])
    expect(
      await play(
        again,
        agentOf(['a', 'b', 'c'], (name) => `new ${name}`),
      ),
    ).toEqual(['a', 'new b', 'new c'])
  })

  test('with live: false fails where a step is not on the tape, whatever the run makes of the error', async () => {
    const catching: Agent = {
      ...agentOf([]),
      async *run(_input, ctx) {
        const texts: string[] = []
        for (const name of ['a', 'x', 'b']) {
          texts.push(
            await ctx.perform(name, async () => refused(name)).catch((error) => KernelError.from(error).message),
          )
        }
        yield* say(ctx, texts.join('\n'))
      },
    }
    const again = tape(await recording(['a', 'b']), { live: false })
    const message = 'tape: the run asked for x#1, which is not on the tape; not asked for so far: b#1'
    expect(await play(again, catching)).toEqual([['a', message, message].join('\n')])
    expect(again.unused).toEqual(['b#1'])

    const strict = tape(await recording(['a', 'b']), { live: false })
    expect(await play(strict, agentOf(['a', 'b', 'c'], refused))).toEqual(['a', 'b', 'TAPE_STEP_MISSING'])
  })

  test('with live: false does a step again that asked a person', async () => {
    let asked = 0
    const asking: Agent = {
      ...agentOf([]),
      async *run(_input, ctx) {
        await ctx.perform('a', async () => 1)
        const question = async () => {
          asked++
          return ctx.interrupt({ reason: 'input' })
        }
        yield* say(ctx, String(await ctx.perform('ask', question)))
      },
    }
    const on = tape()
    const run = (prepare: Tape['prepare']) => record(startRun(asking, 'Hi', { prepare, canInterrupt: true }))
    const first = await run(on.prepare)
    expect(file(on)).toMatchObject({ steps: [{ step: 'a#1' }], asked: ['ask#1'] })
    const again = await run(tape(file(on), { live: false }).prepare)
    expect([first.end?.outcome, again.end?.outcome, asked]).toEqual(['interrupted', 'interrupted', 2])
  })

  test('names the steps that the run has not asked for', async () => {
    const again = tape(await recording(['a', 'b', 'c']))
    expect(await play(again, agentOf(['b'], refused))).toEqual(['b'])
    expect(again.unused).toEqual(['a#1', 'c#1'])
  })

  test('serves one run too', async () => {
    const again = tape(await recording(['a']))
    expect(await play(again, agentOf(['a'], refused))).toEqual(['a'])
    expect(await play(again, agentOf(['a'], refused))).toEqual(['TAPE_USED'])
  })

  test('gives a step that is asked for twice under one name its two records', async () => {
    const agent = (work: () => number): Agent => ({
      ...agentOf([]),
      async *run(_input, ctx) {
        for (let i = 0; i < 2; i++) {
          yield* say(ctx, String(await ctx.get(JOURNAL)?.perform(`${ctx.runId}/same`, async () => work())))
        }
      },
    })
    let count = 0
    const on = tape()
    expect(
      await play(
        on,
        agent(() => ++count),
      ),
    ).toEqual(['1', '2'])
    const again = tape(file(on), { live: false })
    expect(
      await play(
        again,
        agent(() => refused('same')),
      ),
    ).toEqual(['1', '2'])
    expect(again.unused).toEqual([])
  })

  test('has the steps of the runs inside the run', async () => {
    const outer = (work: (name: string) => Json): Agent => ({
      ...agentOf([]),
      async *run(input, ctx) {
        const call = { callId: 'c1', onAction() {}, onInterrupt() {} }
        const { text } = await runNested(agentOf(['a'], work), input, ctx.derive({ step: 'tool:0:0', call }))
        yield* say(ctx, `${text}!`)
      },
    })
    const on = tape()
    expect(
      await play(
        on,
        outer((name) => name),
      ),
    ).toEqual(['a', 'a!'])
    expect(on.steps).toEqual(['tool:0:0/a#1'])
    expect(await play(tape(file(on), { live: false }), outer(refused))).toEqual(['a', 'a!'])
  })
})

describe('a file', () => {
  test.each<[string, unknown, string]>([
    ['null', null, 'expected what JSON.parse makes of a saved tape, got null'],
    ['its text', JSON.stringify(recorded), 'expected what JSON.parse makes of a saved tape, got "{'],
    ['a list', [], 'expected format 1, got undefined'],
    ['of another format', { ...recorded, format: 2 }, 'expected format 1, got 2'],
    ['without a run id', { ...recorded, runId: '' }, 'runId must be the id of the recorded run, got ""'],
    ['without steps', { ...recorded, steps: {} }, 'steps must be a list, got an object'],
    ['with an asked that is not a list', { ...recorded, asked: 'a' }, 'asked must be a list of steps, got "a"'],
    ['with a step that is null', { ...recorded, steps: [null] }, 'steps[0].step must be a name, got undefined'],
    [
      'with a step without a value',
      { ...recorded, steps: [{ step: 'a' }] },
      'steps[0].value must be JSON, got undefined',
    ],
    [
      'with a step twice',
      { ...recorded, steps: [...recorded.steps, ...recorded.steps] },
      'steps[1].step must be on the tape once, got "a#1"',
    ],
  ])('is refused if it is %s', (_, saved, message) => {
    expect(() => tape(saved)).toThrow(expect.objectContaining({ code: 'TAPE_INVALID' }))
    expect(() => tape(saved)).toThrow(`tape: ${message}`)
  })

  test.each<[TapeOptions, string, string]>([
    [{ upTo: 'model:9' }, 'TAPE_INVALID', 'tape: upTo must be one of its steps, a#1; got "model:9"'],
    [{ upTo: 2 as never }, 'CONFIG_INVALID', 'tape: upTo must be the name of a step, got 2'],
    [{ live: 'no' as never }, 'CONFIG_INVALID', 'tape: live must be true or false, got "no"'],
  ])('is not replayed with wrong options (%o)', (given, code, message) => {
    expect(() => tape(recorded, given)).toThrow(expect.objectContaining({ code, message }))
  })
})
