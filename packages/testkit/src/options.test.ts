import { expect, test } from 'vitest'
import { type ScriptedModelOptions, scriptedModel, testAgent, testHandler, testModel, testTool } from './index.ts'
import { testOptions } from './suite/test-options.ts'

const scripted: Required<ScriptedModelOptions> = { name: 'm', repeat: true }
testOptions('scriptedModel', (options: ScriptedModelOptions) => scriptedModel(['Hi.'], options), scripted)

test.each([
  ['testAgent', (options: never) => testAgent('x', never, options), { inputs: 1 }, 'input'],
  ['testHandler', (options: never) => testHandler('x', never, options), { message: [] }, 'messages'],
  ['testModel', (options: never) => testModel('x', never, options), { requests: 1 }, 'request'],
  ['testTool', (options: never) => testTool('x', never, options), { args: {}, arguments: {} }, 'args'],
])('%s refuses an option that it does not have', (name, suite, options, meant) => {
  expect(() => suite(options as never)).toThrow(new RegExp(`^${name}: unknown option .*; did you mean ${meant}\\?$`))
})

function never(): never {
  throw new Error('nothing is made for a suite that is refused')
}
