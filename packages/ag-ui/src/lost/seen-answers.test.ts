import { EventType } from '@ag-ui/core'
import type { RunContext } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import type { AgUiEvent } from '../protocol.ts'
import { SeenAnswers } from './seen-answers.ts'

const text = (messageId: string, delta: string): AgUiEvent => ({
  type: EventType.TEXT_MESSAGE_CONTENT,
  messageId,
  delta,
})
const thought = (messageId: string, delta: string): AgUiEvent => ({
  type: EventType.REASONING_MESSAGE_CONTENT,
  messageId,
  delta,
})
const call = (toolCallId: string, parentMessageId: string): AgUiEvent[] => [
  { type: EventType.TOOL_CALL_START, toolCallId, toolCallName: 'look', parentMessageId },
  { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: '{' },
  { type: EventType.TOOL_CALL_END, toolCallId },
]
const context = (runId: string, step = '', origin = '') => ({ runId, step, origin }) as RunContext

describe('what readers have seen of an answer', () => {
  test('is its text, its reasoning and its calls, in order', () => {
    const answers = new SeenAnswers([
      thought('R/#1:reasoning', 'Hm'),
      text('R/#1', 'I '),
      thought('R/#1:reasoning:2', 'So'),
      ...call('c1', 'R/#1'),
    ])
    expect(answers.partsOf(context('R'))).toEqual([
      { type: 'reasoning-delta', delta: 'Hm' },
      { type: 'text-delta', delta: 'I ' },
      { type: 'reasoning-delta', delta: 'So' },
      { type: 'tool-call-start', callId: 'c1', name: 'look' },
      { type: 'tool-call-delta', callId: 'c1', delta: '{' },
      { type: 'tool-call-end', callId: 'c1' },
    ])
  })

  test('belongs to the agent of a step, and not to steps inside or beside it', () => {
    const answers = new SeenAnswers([text('R/#1', 'a'), text('R/branch:0#1', 'b'), text('R/tool:0:0/#1', 'c')])
    expect(answers.partsOf(context('R'))).toEqual([{ type: 'text-delta', delta: 'a' }])
    expect(answers.partsOf(context('R', 'branch:0'))).toEqual([{ type: 'text-delta', delta: 'b' }])
    expect(answers.partsOf(context('R/tool:0:0'))).toEqual([{ type: 'text-delta', delta: 'c' }])
    expect(answers.partsOf(context('R', 'branch:1'))).toEqual([])
  })

  test('has a restart between attempts, and leaves out answers that were given again', () => {
    const answers = new SeenAnswers([text('R/#1', 'old'), text('R/#2', 'one'), text('R/#3', 'two')])
    answers.begin('R/#1')
    expect(answers.partsOf(context('R'))).toEqual([
      { type: 'text-delta', delta: 'one' },
      { type: 'restart' },
      { type: 'text-delta', delta: 'two' },
    ])
  })

  test('has the call ids of the model: without the calls around a nested run, and empty where the kernel made one', () => {
    const answers = new SeenAnswers([
      ...call('c1/c2', 'R/tool:0:0/#1').slice(0, 1),
      ...call('c1/R/tool:0:0/#2', 'R/tool:0:0/#1').slice(0, 1),
    ])
    expect(answers.partsOf(context('R/tool:0:0', '', 'c1'))).toEqual([
      { type: 'tool-call-start', callId: 'c2', name: 'look' },
      { type: 'tool-call-start', callId: '', name: 'look' },
    ])
  })
})
