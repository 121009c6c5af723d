import { chatModelAgent } from '@troupe/chat-model'
import { defineTool, KernelError } from '@troupe/kernel'
import { runNested, startRun } from '@troupe/kernel/run'
import { fakeClock, scriptedModel } from '@troupe/testkit'
import { expect, it } from 'vitest'
import { printer } from './printer.ts'
import { weatherTool } from './weather-tool.ts'

const input = { messages: [{ id: 'u1', role: 'user', content: 'Beijing?' }] } as const

async function printed(turns: Parameters<typeof scriptedModel>[0], color = false): Promise<string> {
  let page = ''
  const clock = fakeClock()
  const print = printer({ write: (text) => (page += text) }, { color, clock })
  const model = scriptedModel(turns)
  const agent = chatModelAgent({
    name: 'WeatherAgent',
    model,
    tools: [weatherTool()],
    retry: (_error, attempt) => (attempt < 2 ? 0 : undefined),
  })
  for await (const event of startRun(agent, input).eventsWithoutThrowing()) {
    print(event)
    clock.advance(1)
  }
  return page
}

it('shows the agents, their text, calls with arguments and results, tokens and time', async () => {
  const call = { name: 'get_weather', arguments: { city: 'Beijing' } }
  const page = await printed([
    { text: ['Let me ', 'see.'], toolCalls: [call] },
    { toolCalls: [{ name: 'get_weather' }] },
    'Sunny.',
  ])
  expect(page.replaceAll(/\d+ ms/g, 'n ms')).toBe(`● WeatherAgent
  Let me see.
  → get_weather {"city":"Beijing"}
  ← The weather in Beijing: sunny, 24 °C (demo data). (n ms)
  → get_weather {}
  ✗ Error: tool get_weather: arguments are not valid, Instance does not have required property "city". (n ms)
  Sunny.
✔ complete · 3 model calls · 3 tokens in, 3 out · n ms
`)
  expect(page).toMatch(/demo data\)\. \(1 ms\)/)
})

it('shows that it tries again, and an error with its code', async () => {
  const error = new KernelError('MODEL_FAILED', 'model: gone', { retryable: true })
  const page = await printed([{ text: ['No', 'ise'], error: { at: 'mid', error } }, 'Sunny.'])
  expect(page).toContain('  No\n  ↺ that attempt failed; once more\n  Sunny.\n✔ complete')
  const given = await printed([
    { text: ['No', 'ise'], error: { at: 'mid', error: new Error('no key') } },
    { error: { at: 'before', error } },
  ])
  expect(given).toContain('✗ MODEL_FAILED: gave up after 2 attempts, model: gone')
  expect(given).not.toContain('once more')
  expect(given).toContain('✗ failed')
})

it('shows where an answer was cut off, and not the calls that it had begun', async () => {
  const error = { at: 'mid', error: new Error('no key') } as const
  const page = await printed([
    {
      text: ['Let ', 'me ', 'see.'],
      toolCalls: [{ name: 'get_weather', arguments: ['{"ci', 'ty":', '"Bei', 'jing', '"}'] }],
      error,
    },
    { error: { at: 'before', error: error.error } },
  ])
  expect(page).toContain(
    '  Let me see.\n  … cut off here\n  ✗ MODEL_FAILED: gave up after 2 attempts, no key\n✗ failed · 1 model call',
  )
})

it('shows a run inside a call beside a bar, its end not as that of the run, and clips what is long', async () => {
  let page = ''
  const clock = fakeClock()
  const print = printer({ write: (text) => (page += text) }, { color: false, clock })
  const inner = chatModelAgent({ name: 'inner', model: scriptedModel(['One\ntwo.']) })
  const long = Array.from({ length: 20 }, (_, i) => `line ${i}`).join('\n')
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object' },
    async invoke(_args, ctx) {
      await runNested(inner, { messages: [] }, ctx)
      return long
    },
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'look', arguments: { text: 'x'.repeat(300) } }] }, 'Done.'])
  for await (const event of startRun(chatModelAgent({ name: 'outer', model, tools: [look] }), input)) print(event)
  expect(page.replaceAll(/\d+ ms/g, 'n ms')).toBe(`● outer
  → look {"text":"${'x'.repeat(191)}…
  │ ● outer › inner
  │   One
  │   two.
  ← line 0
    line 1
    line 2
    line 3
    line 4
    line 5
    line 6
    … 13 more (n ms)
  Done.
✔ complete · 3 model calls · 3 tokens in, 3 out · n ms
`)
})

it('uses colour when it may', async () => {
  expect(await printed(['Hi'], true)).toContain('\u001b[1m● WeatherAgent')
})
