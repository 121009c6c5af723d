import type { AgentConfig } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { testHandler, testOptions } from '@troupe/testkit'
import { expect, it } from 'vitest'
import { shout } from './index.ts'

// The conformance suite: what an agent expects of a handler.
testHandler('shout', () => shout())
testOptions('shout', shout, { suffix: '?' })

it('adds its request to the instruction', async () => {
  const config: AgentConfig = { instruction: 'Help.', tools: [], input: { messages: [] }, runOptions: {} }
  await shout({ suffix: '?' }).beforeAgent?.(createRunContext(), config)
  expect(config.instruction).toBe('Help.\nAnswer in capitals and end with ?')
})
