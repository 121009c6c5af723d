import { chatModelAgent } from '@troupe/chat-model'
import { compactedFrom, compaction } from '@troupe/context'
import { runner } from '@troupe/flow'
import { EMAIL, redaction } from '@troupe/handlers'
import type { AgentHandler } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { scriptedModel } from '@troupe/testkit'
import { expect, test } from 'vitest'

test('a summary from before redaction was installed is redacted before the model gets it', async () => {
  const store = memoryStore()
  const session = { app: 'test', user: 'ann', threadId: 't' }
  const writer = scriptedModel(['## Facts\n- Mail of Ann: ann@example.com'], { repeat: true })
  const shorter = compaction({ model: writer, maxTokens: 100, keepTokens: 10, store })
  const usage = { inputTokens: 500, outputTokens: 1 }
  const model = scriptedModel([{ text: 'One.', usage }, 'Two.', 'Three.'])
  const ask = (text: string, ...handlers: readonly AgentHandler[]) => {
    const agent = chatModelAgent({ name: 'guide', model, handlers })
    return runner({ agent, store, history: { from: compactedFrom } }).query(text, { session })
  }
  await ask('I am ann@example.com. '.repeat(9), shorter)
  await ask('Two?', shorter)
  expect(JSON.stringify(model.requests[1]?.messages)).toContain('ann@example.com')
  await ask('Three?', shorter, redaction({ rules: [EMAIL] }))
  const shown = JSON.stringify(model.requests[2]?.messages)
  expect(shown).toContain('Mail of Ann: [email]')
  expect(shown).not.toContain('ann@example.com')
})
