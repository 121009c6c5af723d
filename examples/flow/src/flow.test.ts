import { readFileSync } from 'node:fs'
import { runner } from '@troupe/flow'
import { scriptedModel } from '@troupe/testkit'
import { expect, it } from 'vitest'
import { butler, order } from './approval.ts'
import { newsDesk } from './review.ts'
import { helpDesk } from './router.ts'

const here = (path: string) => new URL(path, import.meta.url)

it.each(['router.ts', 'approval.ts', 'review.ts'])('%s is in docs/flow.md, to the letter', (file) => {
  expect(readFileSync(here('../../../docs/flow.md'), 'utf8')).toContain(
    `\`\`\`ts\n${readFileSync(here(file), 'utf8')}\`\`\``,
  )
})

it('router: transfers to the agent that can help, in the same conversation', async () => {
  const model = scriptedModel([
    { toolCalls: [{ name: 'transfer_to_agent', arguments: { agent_name: 'weather' } }] },
    { toolCalls: [{ name: 'get_weather', arguments: { city: 'Beijing' } }] },
    'It is sunny.',
    'You are welcome.',
  ])
  const desk = runner({ agent: helpDesk(model) })
  const session = { app: 'a', user: 'u', threadId: 't' }
  expect((await desk.query("What's the weather in Beijing?", { session })).text).toBe('It is sunny.')
  expect((await desk.query('Thanks!', { session })).text).toBe('You are welcome.')
  expect(model.requests[3]?.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'user',
    'user',
    'user',
    'user',
  ])
})

it.each([
  [true, 'Paid 120 euros.'],
  [false, 'The user refused this call.'],
])('approval: when the answer is %o the model sees "%s"', async (approved, seen) => {
  const model = scriptedModel([
    { toolCalls: [{ name: 'pay', arguments: { amount: 120 } }] },
    ({ messages }) => String(messages.at(-1)?.content),
  ])
  const asked: string[] = []
  const text = await order(runner({ agent: butler(model) }), 'Pay the gardener.', async (question) => {
    asked.push(question)
    return approved
  })
  expect([asked, text]).toEqual([['Allow pay? {"amount":120}'], seen])
})

it('review: goes round until the editor responds', async () => {
  const scripts = {
    writer: scriptedModel(['Cats have nine lifes.']),
    facts: scriptedModel(['They have one.', 'Right.']),
    style: scriptedModel(['Lives, not lifes.', 'Fine.']),
    editor: scriptedModel([
      'Cats have one life.',
      { toolCalls: [{ name: 'respond', arguments: { response: 'Cats have one life.' } }] },
    ]),
  }
  const agent = newsDesk((role) => scripts[role as keyof typeof scripts])
  expect((await runner({ agent }).query('Cats')).text).toBe('Cats have one life.')
  expect(scripts.editor.requests[0]?.messages.map(({ content }) => content)).toEqual([
    'Cats',
    'For context: [writer] said: Cats have nine lifes..',
    'For context: [facts] said: They have one..',
    'For context: [style] said: Lives, not lifes..',
  ])
})
