import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AgUiEvent } from '../../packages/ag-ui/src/protocol.ts'
import { FEATURE_OF } from '../../packages/ag-ui/src/translate/feature-of.ts'
import { gate } from '../../packages/ag-ui/src/write/gate.ts'
import { ASSUMED_VERSION, SINCE } from '../../packages/ag-ui/src/write/understood.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/ag-ui-events.md'), 'utf8')
const section = page.slice(page.indexOf('## Older clients'))
const rows = [...section.matchAll(/^\| 0\.0\.(\d+): (.*?) \|/gm)].map(([, since, what = '']) => ({
  since: Number(since),
  what,
}))

test('the table of older clients has each feature, with the version that the server uses', () => {
  expect(rows.map(({ since }) => since)).toEqual(Object.values(SINCE))
})

test('and each kind of event that is kept from some of them', () => {
  for (const [type, feature] of Object.entries(FEATURE_OF)) {
    const row = rows.find(({ since, what }) => since === SINCE[feature] && what.includes(type.split('_')[0] ?? ''))
    expect(row, type).toBeDefined()
  }
})

test('the page names the version that a client without one is taken for', () => {
  expect(section).toContain(`so they are taken for ${ASSUMED_VERSION}`)
})

test('each version gets what the table says, and the version before does not', () => {
  for (const [type, feature] of Object.entries(FEATURE_OF)) {
    const event = { type, content: '', messages: [] } as unknown as AgUiEvent
    expect(gate(event, `0.0.${SINCE[feature]}`), type).toEqual(event)
    expect(gate(event, `0.0.${SINCE[feature] - 1}`), type).toBeUndefined()
  }
})

test('parts of user messages become text, and media are left out, for the versions that the table names', () => {
  const text = { type: 'text', text: 'See' }
  const image = { type: 'image', source: { type: 'url', value: 'https://example.com/cat.png' } }
  const event = { type: 'MESSAGES_SNAPSHOT', messages: [{ id: 'u', role: 'user', content: [text, image] }] }
  const seen = (version: string) => {
    const shown = gate(event as unknown as AgUiEvent, version) as unknown as typeof event
    return shown.messages[0]?.content
  }
  expect(seen(`0.0.${SINCE.media}`)).toEqual([text, image])
  expect(seen(`0.0.${SINCE.media - 1}`)).toEqual([text])
  expect(seen(`0.0.${SINCE.parts - 1}`)).toBe('See')
})

test('only clients from 1.0 on get the last row of the table', () => {
  const finished = (outcome: object) => ({ type: 'RUN_FINISHED', threadId: 't', runId: 'r', outcome })
  const result = { type: 'TOOL_CALL_RESULT', messageId: 'm', toolCallId: 'c', content: [{ type: 'text', text: 'Hi' }] }
  for (const outcome of [{ type: 'cancelled' }, { type: 'success', pendingToolCallIds: ['c'] }]) {
    expect(gate(finished(outcome) as unknown as AgUiEvent, '0.0.59')).not.toHaveProperty('outcome')
    expect(gate(finished(outcome) as unknown as AgUiEvent, '1.0')).toHaveProperty('outcome', outcome)
  }
  expect(gate(result as unknown as AgUiEvent, '0.0.59')).toHaveProperty('content', 'Hi')
  expect(gate(result as unknown as AgUiEvent, '1.0')).toEqual(result)
})
