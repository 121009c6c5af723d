import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { type ChatModel, defineTool, type Json } from '@troupe/kernel'

const pay = defineTool({
  name: 'pay',
  description: 'Pays an amount in euros.',
  parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  needsApproval: ({ amount }) => amount > 100,
  invoke: ({ amount }) => `Paid ${amount} euros.`,
})

/** Carries out an order, and asks before it pays a large amount. */
export async function butler(
  model: ChatModel,
  order: string,
  ask: (question: string) => Promise<boolean>,
): Promise<string> {
  const { query, resume } = runner({ agent: chatModelAgent({ name: 'butler', model, tools: [pay] }) })
  const session = { app: 'house', user: 'ann', threadId: 'orders' }
  let result = await query(order, { session })
  while (result.outcome === 'interrupted') {
    const answers: Record<string, Json> = {}
    for (const { id, message = '', metadata } of result.interrupts ?? []) {
      answers[id] = { approved: await ask(`${message} ${metadata?.arguments}`) }
    }
    result = await resume(answers, { session })
  }
  return result.text
}
