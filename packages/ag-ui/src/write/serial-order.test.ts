import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AgUiEvent } from '../protocol.ts'
import { SerialOrder } from './serial-order.ts'

const event = (type: string, rest: object = {}) => ({ type, ...rest }) as AgUiEvent
const text = (messageId: string) =>
  ['START', 'CONTENT', 'END'].map((end) => event(`TEXT_MESSAGE_${end}`, { messageId }))
const call = (toolCallId: string) => ['START', 'ARGS', 'END'].map((end) => event(`TOOL_CALL_${end}`, { toolCallId }))
const custom = (name: string) => [event('CUSTOM', { name })]
const end = event('RUN_FINISHED')
const idOf = (shown: AgUiEvent) => JSON.stringify(Object.values(shown).slice(1))

/** Events of several entities, mixed as the picks say, each entity in its own order. */
function mixed(entities: readonly (readonly AgUiEvent[])[], picks: readonly number[]): AgUiEvent[] {
  const queues = entities.map((events) => [...events])
  const out: AgUiEvent[] = []
  for (const pick of picks) {
    const queue = queues.filter(({ length }) => length > 0)
    const next = queue[pick % queue.length]?.shift()
    if (next) out.push(next)
  }
  return [...out, ...queues.flat()]
}

test('whatever is open at once comes one after the other, complete and in its own order', () => {
  const picks = fc.array(fc.nat(20), { maxLength: 20 })
  fc.assert(
    fc.property(picks, (picks) => {
      const entities = [text('a'), call('b'), custom('c'), text('d'), call('e'), custom('f')]
      const order = new SerialOrder()
      const shown = [...mixed(entities, picks), end].flatMap((given) => order.take(given))
      expect(shown.at(-1)).toBe(end)
      const runs = shown.filter((given, i) => i === 0 || idOf(given) !== idOf(shown[i - 1] as AgUiEvent))
      expect(runs).toHaveLength(entities.length + 1)
      for (const entity of entities) expect(shown.filter((given) => entity.includes(given))).toEqual(entity)
    }),
  )
})

test('what is open is shown as it comes', () => {
  const order = new SerialOrder()
  const [start, content, last] = text('a') as [AgUiEvent, AgUiEvent, AgUiEvent]
  const [begun] = call('b') as [AgUiEvent]
  expect([start, begun, content, last].map((given) => order.take(given))).toEqual([
    [start],
    [],
    [content],
    [last, begun],
  ])
})

test('a run that ends with something open shows what has waited', () => {
  const order = new SerialOrder()
  const [start] = text('a') as [AgUiEvent]
  const [begun] = call('b') as [AgUiEvent]
  order.take(start)
  order.take(begun)
  expect(order.take(end)).toEqual([begun, end])
})

test('of steps within steps the outer one is shown', () => {
  const order = new SerialOrder()
  const step = (type: string, stepName: string, subagentRunId?: string) =>
    event(`STEP_${type}`, { stepName, ...(subagentRunId !== undefined && { subagentRunId }) })
  const outer = [step('STARTED', 'a'), step('FINISHED', 'a')] as const
  const inner = [step('STARTED', 'a', 's'), step('STARTED', 'b'), step('FINISHED', 'a', 's')]
  const shown = [outer[0], ...inner, outer[1], step('FINISHED', 'b'), ...outer, end].flatMap((one) => order.take(one))
  expect(shown).toEqual([...outer, ...outer, end])
})
