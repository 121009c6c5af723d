import { testModel } from '@troupe/testkit'
import { demoModel } from './demo-model.ts'

testModel('demoModel', () => demoModel({ wordDelayMs: 0 }))
testModel('demoModel, asked for the weather', () => demoModel({ wordDelayMs: 1 }), {
  request: {
    instruction: '',
    messages: [{ id: 'u1', role: 'user', content: "What's the weather in São Paulo?" }],
    tools: [{ name: 'get_weather', description: '', parameters: { type: 'object' } }],
    options: {},
    step: 'model:0',
    idempotencyKey: 'k',
  },
})
