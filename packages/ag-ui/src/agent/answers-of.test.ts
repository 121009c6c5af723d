import type { ResumeEntry } from '@ag-ui/core'
import type { Interrupt } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { answerMark, answersOf } from './answers-of.ts'

const open = (id: string, more: Partial<Interrupt> = {}): Interrupt => ({
  id,
  reason: 'input',
  agentName: 'desk',
  ...more,
})
const resolved = (interruptId: string, payload: unknown = 'yes'): ResumeEntry => ({
  interruptId,
  status: 'resolved',
  payload,
})
const cancelled = (interruptId: string): ResumeEntry => ({ interruptId, status: 'cancelled' })
const NONE: ReadonlySet<string> = new Set()

describe('the answers of a resume array', () => {
  test('are matched by id', () => {
    expect(answersOf([resolved('b', 2), resolved('a', { x: 1 })], [open('a'), open('b')], NONE, 0)).toEqual({
      answers: { a: { x: 1 }, b: 2 },
      closed: [],
    })
  })

  test('a question can be cancelled, also when its time has passed', () => {
    const questions = [open('a', { expiresAt: 10 }), open('b')]
    expect(answersOf([cancelled('a'), resolved('b')], questions, NONE, 10)).toEqual({
      answers: { b: 'yes' },
      closed: ['a'],
    })
  })

  test('an answer without a payload approves nothing', () => {
    const entry: ResumeEntry = { interruptId: 'a', status: 'resolved' }
    expect(answersOf([entry], [open('a', { reason: 'approval' })], NONE, 0)).toEqual({
      answers: { a: null },
      closed: [],
    })
  })

  test.each([
    ['one is missing', [resolved('a')], [open('a'), open('b')], 'INTERRUPT_UNANSWERED'],
    ['one is unknown', [resolved('a'), resolved('z')], [open('a')], 'INTERRUPT_UNKNOWN'],
    ['nothing is open', [resolved('a')], [], 'INTERRUPT_UNKNOWN'],
    ['one is too late', [resolved('a')], [open('a', { expiresAt: 10 })], 'INTERRUPT_EXPIRED'],
  ])('are refused if %s', (_, entries, questions, code) => {
    expect(() => answersOf(entries, questions, NONE, 10)).toThrow(expect.objectContaining({ code }))
  })

  test('answers that were taken before are ignored', () => {
    const done = new Set([answerMark('a')])
    expect(answersOf([resolved('a')], [], done, 0)).toBeUndefined()
    expect(answersOf([resolved('a'), resolved('b')], [open('b')], done, 0)).toEqual({
      answers: { b: 'yes' },
      closed: [],
    })
  })

  test('an open question needs an answer, whatever was taken before', () => {
    expect(answersOf([resolved('a')], [open('a')], new Set([answerMark('a')]), 0)).toEqual({
      answers: { a: 'yes' },
      closed: [],
    })
  })
})
