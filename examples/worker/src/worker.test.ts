import { HttpAgent } from '@ag-ui/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundle } from './bundle.fixture.ts'
import { hasWorkerd, WorkerdProcess } from './workerd.fixture.ts'

describe.skipIf(!hasWorkerd)('in workerd, without a compatibility flag', () => {
  let worker: WorkerdProcess

  beforeAll(async () => {
    worker = await WorkerdProcess.start((await bundle('./worker.ts')).code)
  })
  afterAll(() => worker?.[Symbol.asyncDispose]())

  test('an agent answers the official client', async () => {
    const agent = new HttpAgent({ url: worker.url, threadId: 't1' })
    agent.addMessage({ id: 'm1', role: 'user', content: 'What is 6 times 7?' })
    await agent.runAgent()
    expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: '6 times 7 is 42.' })
  })
})
