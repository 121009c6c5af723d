import { describe, expect, test } from 'vitest'
import { KernelError } from '../data/kernel-error.ts'
import { conclude, type EarlyStop } from './conclude.ts'

const errors = {
  mine: new KernelError('MINE', 'agent: failed'),
  earlier: new KernelError('MINE', 'agent: failed before'),
  timeout: new KernelError('TIMEOUT', 'run: took too long'),
  stopped: new KernelError('ABORTED', 'run: cancelled'),
  gaveUp: new KernelError('ABORTED', 'agent: stopped between two steps'),
}
const { mine, earlier, timeout, stopped, gaveUp } = errors
const soft = () => 'after-model'
const notAsked = () => undefined
const nameOf = (error: KernelError | undefined) => Object.entries(errors).find(([, value]) => value === error)?.[0]

describe('an early stop', () => {
  // In the last column, the failure of the run from then on.
  test.each<[string, EarlyStop, 'failed' | 'cancelled', keyof typeof errors, keyof typeof errors | undefined]>([
    ['by a thrown error', { thrown: mine }, 'failed', 'mine', 'mine'],
    ['by a thrown error after another failure', { thrown: mine, failure: earlier }, 'failed', 'mine', 'mine'],
    ['by a thrown error while a cancel is requested', { thrown: mine, cancelling: soft }, 'failed', 'mine', 'mine'],
    ['by an abort', { aborted: stopped }, 'cancelled', 'stopped', 'stopped'],
    ['by an abort because of a failure', { aborted: stopped, failure: earlier }, 'cancelled', 'stopped', 'earlier'],
    ['by an abort with an error as its reason', { aborted: timeout }, 'failed', 'timeout', 'timeout'],
    ['by such an abort after a failure', { aborted: timeout, failure: earlier }, 'failed', 'timeout', 'timeout'],
    ['by an error after an abort', { thrown: mine, aborted: stopped }, 'cancelled', 'stopped', 'stopped'],
    ['by an error after a timeout', { thrown: mine, aborted: timeout }, 'failed', 'timeout', 'timeout'],
    ['by ABORTED after an abort', { thrown: gaveUp, aborted: stopped }, 'cancelled', 'stopped', 'stopped'],
    ['by ABORTED after a timeout', { thrown: gaveUp, aborted: timeout }, 'failed', 'timeout', 'timeout'],
    ['by ABORTED after a soft cancel', { thrown: gaveUp, cancelling: soft }, 'cancelled', 'gaveUp', 'gaveUp'],
    ['by ABORTED without a request', { thrown: gaveUp, cancelling: notAsked }, 'failed', 'gaveUp', 'gaveUp'],
    ['by ABORTED without a host', { thrown: gaveUp }, 'failed', 'gaveUp', 'gaveUp'],
    ['by a reported error', { thrown: mine, wasReported: true }, 'failed', 'mine', undefined],
    ['by the reported failure', { thrown: mine, wasReported: true, failure: mine }, 'failed', 'mine', 'mine'],
    [
      'by a reported error before an abort',
      { thrown: mine, wasReported: true, aborted: stopped, failure: stopped },
      'failed',
      'mine',
      'stopped',
    ],
    [
      'by a reported ABORTED during a soft cancel',
      { thrown: gaveUp, wasReported: true, cancelling: soft },
      'failed',
      'gaveUp',
      undefined,
    ],
  ])('%s', (_, stop, outcome, error, failure) => {
    const conclusion = conclude(stop)
    expect([conclusion.outcome, nameOf(conclusion.error), nameOf(conclusion.failure)]).toEqual([
      outcome,
      error,
      failure,
    ])
  })

  test('by a thrown undefined is a failure that says so', () => {
    const { outcome, error, failure } = conclude({})
    expect([outcome, error.code, error.message]).toEqual(['failed', 'AGENT_FAILED', 'thrown value, got undefined'])
    expect(failure).toBe(error)
  })

  test('asks for a soft cancel only where the answer matters', () => {
    const cancelling = () => {
      throw new Error('not called')
    }
    expect(conclude({ thrown: mine, cancelling }).outcome).toBe('failed')
    expect(conclude({ aborted: stopped, cancelling }).outcome).toBe('cancelled')
  })
})
