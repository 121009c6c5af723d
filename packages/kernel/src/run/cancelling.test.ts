import { beforeEach, describe, expect, test } from 'vitest'
import type { CancelMode } from '../index.ts'
import { KernelError } from '../index.ts'
import { runNested, startRun } from '../run.ts'
import { collect, noUnhandledRejection, raise } from '../stream/stream.fixture.ts'
import { agentOf, callOf, input, quiet, settled } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

const stopped = new KernelError('ABORTED', 'test: stopped between steps')

/** The last event of a run whose agent throws this while its host answers that. */
async function endOf(error: unknown, mode: CancelMode | undefined) {
  const host = {
    mode,
    cancelling(this: { readonly mode: CancelMode | undefined }) {
      return this.mode
    },
  }
  const run = startRun(
    agentOf('a', () => raise(error)),
    input,
    {},
    host,
  )
  const events = await collect(run)
  return { end: events.at(-1), errors: events.filter(({ type }) => type === 'error').length, code: await settled(run) }
}

describe('a soft cancel', () => {
  test('ends an agent that throws ABORTED for it as cancelled, without an error', async () => {
    const { end, errors, code } = await endOf(stopped, 'after-model')
    expect(end).toMatchObject({ outcome: 'cancelled', error: { code: 'ABORTED', message: stopped.message } })
    expect([errors, code]).toEqual([0, 'ABORTED'])
  })

  test('does not hide another error', async () => {
    const { end, errors, code } = await endOf(new KernelError('MINE', 'mine: no'), 'after-tools')
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'MINE' } })
    expect([errors, code]).toEqual([1, 'MINE'])
  })

  test('is needed: ABORTED thrown without one is a failure', async () => {
    const { end, errors } = await endOf(stopped, undefined)
    expect([end, errors]).toMatchObject([{ outcome: 'failed', error: { code: 'ABORTED' } }, 1])
    await expect(
      startRun(
        agentOf('a', () => raise(stopped)),
        input,
      ),
    ).rejects.toBe(stopped)
  })

  test('is seen where it is looked for, in nested runs too, and asked for each time', async () => {
    const seen: unknown[] = []
    const host = { mode: undefined as CancelMode | undefined, cancelling: () => host.mode }
    const inner = quiet('inner', async (ctx) => {
      seen.push(ctx.cancelling)
      host.mode = 'after-tools'
      seen.push(ctx.cancelling)
      raise(stopped)
    })
    const outer = quiet('outer', async (ctx) => {
      seen.push(ctx.cancelling)
      await runNested(inner, input, callOf(ctx, 0))
    })
    const outcomes = (await collect(startRun(outer, input, {}, host))).flatMap((event) =>
      event.type === 'run-end' ? [event.outcome] : [],
    )
    expect([seen, outcomes]).toEqual([
      [undefined, undefined, 'after-tools'],
      ['cancelled', 'cancelled'],
    ])
  })
})
