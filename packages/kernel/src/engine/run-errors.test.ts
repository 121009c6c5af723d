import { describe, expect, test } from 'vitest'
import { KernelError } from '../data/kernel-error.ts'
import { RunErrors } from './run-errors.ts'

const make = () => new KernelError('MINE', 'agent: failed', { cause: new Error('inner') })

/** A run that has failed with an error and has shown it. */
function failed() {
  const errors = new RunErrors()
  const { error } = errors.conclude(make(), undefined, undefined)
  const info = errors.infoOf(error)
  errors.markReported(info)
  return { errors, error, info }
}

describe('an error of a run', () => {
  test('is found again by the ErrorInfo that was written for it', () => {
    const { errors, error, info } = failed()
    expect(errors.errorOf(info)).toBe(error)
  })

  test('is found again by a copy of its ErrorInfo, as after a journey through JSON', () => {
    const { errors, error, info } = failed()
    expect(errors.errorOf(structuredClone(info))).toBe(error)
  })

  test('is recognised where an agent rebuilt it from an event and threw it', () => {
    const { errors, error, info } = failed()
    const { outcome, error: concluded } = errors.conclude(KernelError.from(info), make(), undefined)
    expect([outcome, concluded === error]).toEqual(['failed', true])
  })

  test('is not mistaken for another one with the same text that the run has written too', () => {
    const errors = new RunErrors()
    const [first, second] = [make(), make()]
    const [firstInfo, secondInfo] = [errors.infoOf(first), errors.infoOf(second)]
    errors.markReported(firstInfo)
    expect([errors.wasReported(first), errors.wasReported(second)]).toEqual([true, false])
    expect([errors.errorOf(firstInfo) === first, errors.errorOf(secondInfo) === second]).toEqual([true, true])
  })

  test('counts as reported where an agent showed a copy of it', () => {
    const errors = new RunErrors()
    const error = make()
    errors.markReported(structuredClone(errors.infoOf(error)))
    expect(errors.wasReported(error)).toBe(true)
  })

  test('is not mistaken for a fresh one with the same text', () => {
    const { errors, error } = failed()
    expect(errors.wasReported(error)).toBe(true)
    expect(errors.wasReported(make())).toBe(false)
  })

  test('with another message or code was not reported', () => {
    const { errors } = failed()
    expect(errors.wasReported(new KernelError('MINE', 'agent: failed again'))).toBe(false)
    expect(errors.wasReported(new KernelError('OTHER', 'agent: failed'))).toBe(false)
  })

  test('that is not known is read from its ErrorInfo', () => {
    const { code, message } = new RunErrors().errorOf({ code: 'MINE', message: 'agent: failed' })
    expect([code, message]).toEqual(['MINE', 'agent: failed'])
  })
})
