import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Runner } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { butler, order } from '../../../examples/flow/src/approval.ts'
import { newsDesk } from '../../../examples/flow/src/review.ts'
import { helpDesk } from '../../../examples/flow/src/router.ts'
import { PLACES, type Place, told } from './places.ts'
import { read, thread } from './talk.ts'

/** The agents of `examples/flow`, with models that give prepared answers. */
function agents() {
  const desk = scriptedModel([
    { toolCalls: [{ name: 'transfer_to_agent', arguments: { agent_name: 'weather' } }] },
    { toolCalls: [{ name: 'get_weather', arguments: { city: 'Beijing' } }] },
    'It is sunny.',
    'You are welcome.',
  ])
  const payer = scriptedModel([
    { toolCalls: [{ name: 'pay', arguments: { amount: 120 } }] },
    ({ messages }) => String(messages.at(-1)?.content),
    { toolCalls: [{ name: 'pay', arguments: { amount: 500 } }] },
    ({ messages }) => String(messages.at(-1)?.content),
  ])
  const writers = {
    writer: scriptedModel(['Cats have nine lifes.']),
    facts: scriptedModel(['They have one.', 'Right.']),
    style: scriptedModel(['Lives, not lifes.', 'Fine.']),
    editor: scriptedModel([
      'Cats have one life.',
      { toolCalls: [{ name: 'respond', arguments: { response: 'Cats have one life.' } }] },
    ]),
  }
  return {
    router: helpDesk(desk),
    butler: butler(payer),
    desk: newsDesk((role) => writers[role as keyof typeof writers]),
  }
}

/** What each agent says in the first place. */
const shown: Record<string, unknown> = {}

describe.each(PLACES)('the agents of the examples %s', (where, open) => {
  async function inPlace(use: (place: Place) => Promise<unknown>): Promise<unknown> {
    await using stack = new AsyncDisposableStack()
    const home = mkdtempSync(join(tmpdir(), 'troupe-examples-'))
    stack.defer(() => rmSync(home, { recursive: true, force: true }))
    return await use(await open(stack, home, agents()))
  }

  it('do what they do in memory, without a change', async () => {
    const results = await inPlace(async (place) => {
      const conversation = async (runner: Runner, ...texts: readonly string[]) => {
        const ref = thread()
        const turns: unknown[] = []
        for (const text of texts) {
          const runId = crypto.randomUUID()
          const { ended, events } = read(runner.run(text, { session: ref, runId }), ref, runId)
          const end = await ended
          // The order of agents that run beside each other is nobody's promise.
          turns.push({
            told: [...told(events)].sort(),
            end: end?.type === 'run-end' && [end.outcome, end.text, end.usage],
          })
        }
        const messages = await place.store.threads.messages(ref)
        return { turns, roles: messages.map(({ message }) => message.role).sort() }
      }
      const asked: string[] = []
      const answer = (approved: boolean) => async (question: string) => {
        asked.push(question)
        return approved
      }
      return {
        desk: await conversation(place.runner('desk'), 'Cats'),
        router: await conversation(place.runner('router'), "What's the weather in Beijing?", 'Thanks!'),
        paid: await order(place.runner('butler'), 'Pay the gardener.', answer(true)),
        refused: await order(place.runner('butler'), 'Pay the other gardener.', answer(false)),
        asked,
      }
    })
    shown.results ??= results
    expect(results).toMatchObject({
      paid: 'Paid 120 euros.',
      refused: 'The user refused this call.',
      asked: ['Allow pay? {"amount":120}', 'Allow pay? {"amount":500}'],
    })
    expect([where, results]).toEqual([where, shown.results])
  })
})
