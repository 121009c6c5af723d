import type { Interrupt } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { answersTo } from './answers-to.ts'

const ask = (id: string, agentName: string, callId?: string): Interrupt => ({
  id,
  reason: 'input',
  agentName,
  ...(callId !== undefined && { callId }),
})

const open = [
  ask('pay#x', 'clerk', 'pay'),
  ask('go/a#y', 'inner', 'go'),
  ask('go/b#y', 'inner', 'go'),
  ask('#z', 'desk'),
]

describe('answersTo', () => {
  test('gives an answer to the question of a call, and leaves the others open', () => {
    expect(answersTo(open, { pay: true })).toEqual({ 'pay#x': true })
  })

  test('gives every question of one call the same answer; the id of a question means that one alone', () => {
    expect(answersTo(open, { go: 1 })).toEqual({ 'go/a#y': 1, 'go/b#y': 1 })
    expect(answersTo(open, { 'go/b#y': null })).toEqual({ 'go/b#y': null })
  })

  test('an agent outside its calls is known by its name, one inside a call is not', () => {
    expect(answersTo(open, { desk: 'yes' })).toEqual({ '#z': 'yes' })
    expect(() => answersTo(open, { clerk: 'yes' })).toThrow()
  })

  test('refuses a key without an open question', () => {
    for (const interrupts of [undefined, [], open]) {
      expect(() => answersTo(interrupts, { other: 1 })).toThrow(expect.objectContaining({ code: 'INTERRUPT_UNKNOWN' }))
    }
    expect(answersTo(undefined, {})).toEqual({})
  })
})
