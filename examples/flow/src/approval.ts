import { chatModelAgent } from '@troupe/chat-model'
import { type Agent, type ChatModel, defineTool, type Json, type Runner } from '@troupe/kernel'

const pay = defineTool({
  name: 'pay',
  description: 'Pays an amount in euros.',
  parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  needsApproval: ({ amount }) => amount > 100,
  invoke: ({ amount }) => `Paid ${amount} euros.`,
})

/** Pays, and asks before it pays a large amount. */
export function butler(model: ChatModel): Agent {
  return chatModelAgent({ name: 'butler', model, tools: [pay] })
}

/** Gives an order and passes the questions on until it is carried out. */
export async function order(
  butlers: Runner,
  text: string,
  ask: (question: string) => Promise<boolean>,
): Promise<string> {
  const session = { app: 'house', user: 'ann', threadId: 'orders' }
  let result = await butlers.run(text, { session })
  while (result.outcome === 'interrupted') {
    const answers: Record<string, Json> = {}
    for (const { id, message = '', metadata } of result.interrupts ?? []) {
      answers[id] = { approved: await ask(`${message} ${metadata?.arguments}`) }
    }
    result = await butlers.resume(answers, { session })
  }
  return result.text
}
