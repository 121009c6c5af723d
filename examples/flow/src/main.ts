/** Runs the three programs of this folder one after the other. */
import { runner } from '@troupe/flow'
import { scriptedModel } from '@troupe/testkit'
import { butler, order } from './approval.ts'
import { newsDesk } from './review.ts'
import { helpDesk } from './router.ts'

// Any chat model works here; these give prepared answers, so that no key is needed.
const desk = scriptedModel([
  { toolCalls: [{ name: 'transfer_to_agent', arguments: { agent_name: 'weather' } }] },
  { toolCalls: [{ name: 'get_weather', arguments: { city: 'Beijing' } }] },
  'It is sunny in Beijing.',
])
console.log('router:', (await runner({ agent: helpDesk(desk) }).query("What's the weather in Beijing?")).text)

const payer = scriptedModel([{ toolCalls: [{ name: 'pay', arguments: { amount: 120 } }] }, 'The gardener is paid.'])
const approve = async (question: string) => {
  console.log('approval:', question, 'yes')
  return true
}
console.log('approval:', await order(runner({ agent: butler(payer) }), 'Pay the gardener.', approve))

const writers = {
  writer: scriptedModel(['Cats have nine lifes.']),
  facts: scriptedModel(['They have one.', 'Right.']),
  style: scriptedModel(['Lives, not lifes.', 'Fine.']),
  editor: scriptedModel([
    'Cats have one life.',
    { toolCalls: [{ name: 'respond', arguments: { response: 'Cats have one life.' } }] },
  ]),
}
const agent = newsDesk((role) => writers[role as keyof typeof writers])
console.log('review:', (await runner({ agent }).query('Cats')).text)
