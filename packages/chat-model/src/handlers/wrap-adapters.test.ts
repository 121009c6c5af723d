import { withInvokableToolWrapper, withStreamableToolWrapper } from '@troupe/kernel'
import { beforeEach, expect, test } from 'vitest'
import { calling, noUnhandledRejection, runAgent, tool } from '../chat-model.fixture.ts'

beforeEach(noUnhandledRejection)

test('a streamable wrap around an invokable tool may derive its result: a failure inside is not an unhandled rejection', async () => {
  const deriving = withStreamableToolWrapper(async (ctx, input, next) => {
    const { stream, result } = await next(ctx, input)
    return { stream, result: result.then((value) => ({ ...value, display: 'Shown.' })) }
  })
  const failing = withInvokableToolWrapper(() => Promise.reject(new Error('no')))
  const { errors } = await runAgent([calling('t')], { tools: [tool('t')], handlers: [deriving, failing] })
  expect(errors).toMatchObject([{ code: 'HANDLER_FAILED', details: { hook: 'wrapInvokableToolCall' } }])
})
