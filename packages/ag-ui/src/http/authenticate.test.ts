import { contextKey, type RunContext, say } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { expect, it } from 'vitest'
import { AG_UI_INPUT } from '../agent/ag-ui-input.ts'
import { agentOf } from '../agent/agent.fixture.ts'
import { smallRunner } from '../agent/small-runner.fixture.ts'
import { agUiHandler } from './ag-ui-handler.ts'
import { framesOf, input, post } from './http.fixture.ts'

const LOCALE = contextKey<string>('locale')

it('what authenticate learns is in the context of the run, and the client cannot set it', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const seen: unknown[] = []
  const agent = agentOf((_, ctx) => {
    seen.push([ctx.get(LOCALE), ctx.get(AG_UI_INPUT)?.forwardedProps])
    return say(ctx, 'Hello!')
  })
  const handler = agUiHandler({
    runner: smallRunner(agent, store, clock),
    store,
    clock,
    authenticate({ headers }) {
      const locale = headers.get('accept-language')
      const prepare = (ctx: RunContext) => (locale === null ? ctx : ctx.with(LOCALE, locale))
      return { user: 'ann', prepare }
    },
  })
  const forwardedProps = { locale: 'de' }
  await framesOf(await handler(post(input('r1', 't1', { forwardedProps }), { 'accept-language': 'zh' })))
  await framesOf(await handler(post(input('r2', 't1', { forwardedProps }))))
  expect(seen).toEqual([
    ['zh', forwardedProps],
    [undefined, forwardedProps],
  ])
})
