import type { RunContext } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { subagentTool } from '../index.ts'
import { agent, calling, completing, leadHarness } from '../lead.fixture.ts'
import { miniAgent } from '../subagent.fixture.ts'

const inCall = (): RunContext => createRunContext().derive({ call: { callId: 'c1', onAction() {}, onInterrupt() {} } })

describe('prompt and first message', () => {
  const asked = async (options: Parameters<typeof agent>[1], args: Record<string, unknown>) => {
    const model = scriptedModel([completing()])
    const made = subagentTool(agent('a', options), { factory: miniAgent, model })
    await made.invoke(args, inCall())
    const [request] = model.requests
    return {
      instruction: request?.instruction.split('\n\n')[0],
      first: request?.messages[0]?.content,
      count: request?.messages.length,
    }
  }
  const two = {
    inputs: { what: { type: 'string', description: '' }, n: { type: 'integer', description: '' } },
  } as const

  test('a single text is the first message', async () => {
    expect(await asked({}, { task: 'Look.' })).toEqual({ instruction: 'You are a.', first: 'Look.', count: 1 })
  })

  test('several inputs come as JSON', async () => {
    expect(await asked({ input: two }, { what: 'x', n: 2 })).toMatchObject({ first: '{"what":"x","n":2}' })
  })

  test('the prompt and the query are filled in', async () => {
    const options = { input: two, prompt: 'Find ${n} of ${what}. $${n}', query: 'Begin with ${what}.' }
    expect(await asked(options, { what: '${n}', n: 2 })).toEqual({
      instruction: 'Find 2 of ${n}. ${n}',
      first: 'Begin with ${n}.',
      count: 1,
    })
  })

  test('a prompt without names may have a literal ${', async () => {
    expect(await asked({ prompt: 'Keep $${x}.' }, { task: 't' })).toMatchObject({ instruction: 'Keep ${x}.' })
  })

  test('parallel calls of one agent each have their own', async () => {
    const model = scriptedModel([completing()], { repeat: true })
    const made = subagentTool(agent('a', { prompt: 'Do ${task}.' }), { factory: miniAgent, model })
    await Promise.all(['x', 'y', 'z'].map((task) => made.invoke({ task }, inCall())))
    expect(
      model.requests.map(({ instruction, messages }) => [
        instruction.slice(0, 5),
        messages.map(({ content }) => content),
      ]),
    ).toEqual([
      ['Do x.', ['x']],
      ['Do y.', ['y']],
      ['Do z.', ['z']],
    ])
  })

  test('a Standard Schema gives the agent its transformed arguments', async () => {
    const input = z.object({ task: z.string().transform((text) => text.toUpperCase()) })
    const s = leadHarness({
      agents: [agent('a', { input, prompt: 'Do ${task}.' })],
      scripts: { lead: [calling('a'), 'Done.'], a: [completing()] },
    })
    await s.run()
    expect(s.models.a?.requests[0]?.instruction).toMatch(/^Do DO A\.\./)
  })
})
