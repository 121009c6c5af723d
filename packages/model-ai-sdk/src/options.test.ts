import { systemClock } from '@troupe/kernel/kit'
import { scriptedModel, testOptions } from '@troupe/testkit'
import { expect, test } from 'vitest'
import { fakeModel } from './fake-model.fixture.ts'
import { type AiSdkModelOptions, aiSdkModel } from './index.ts'

const all: Required<AiSdkModelOptions> = {
  name: 'm',
  defaults: { temperature: 0 },
  lateSystemRole: 'user',
  schemaDialect: 'openai',
  clock: systemClock,
}
testOptions('aiSdkModel', (options: AiSdkModelOptions) => aiSdkModel(fakeModel(), options), all)

test('a setting of the calls belongs into the defaults', () => {
  expect(() => aiSdkModel(fakeModel(), { temperature: 0 } as never)).toThrow(
    'aiSdkModel: unknown option temperature; did you mean defaults?',
  )
})

test.each([scriptedModel(['Hi.']), aiSdkModel(fakeModel())])('a ChatModel is one already: $name', (model) => {
  expect(() => aiSdkModel(model as never)).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: 'aiSdkModel: this is a ChatModel already; use it as it is',
    }),
  )
})
