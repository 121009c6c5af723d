import type { Json, Tool, ToolKind } from '@troupe/kernel'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ApprovalListener } from './bus.ts'
import { decide } from './decide.ts'
import { createBus } from './message-bus.ts'
import { callOf, noting } from './policy.fixture.ts'
import { createPolicy } from './policy.ts'
import type { PolicyEffect, PolicyRule } from './rule.ts'

const name = fc.constantFrom('a', 'b', 'a/b')
const rules = fc.array(
  fc.record<PolicyRule>(
    {
      effect: fc.constantFrom<PolicyEffect>('deny', 'ask', 'allow', 'allow'),
      agent: fc.constantFrom('', 'a', 'a/**', '**', '*/b', 'a%2Fb'),
      tool: fc.constantFrom('t*', 'u'),
      args: fc.constantFrom({ n: { equals: 1 } }, { n: { not: { equals: 1 } } }),
    },
    { requiredKeys: ['effect'] },
  ),
  { maxLength: 4 },
)

/** What a listener does; only the first of these approves. */
const LISTENERS: Record<string, ApprovalListener> = {
  yes: () => ({ approved: true }),
  no: async () => ({ approved: false }),
  pass: () => undefined,
  nonsense: () => 'yes' as never,
  throws: () => {
    throw new Error('boom')
  },
}
const ANSWERS: Record<string, Json> = {
  yes: { approved: true },
  no: { approved: false },
  nonsense: { approved: 'yes' },
}

const story = fc.record({
  rules,
  later: fc.option(rules, { nil: undefined }),
  path: fc.array(name, { maxLength: 3 }),
  kind: fc.constantFrom<ToolKind>('read', 'write', 'execute', 'think'),
  way: fc.constantFrom('invoke', 'stream', 'longRunning', 'throw'),
  needs: fc.boolean(),
  n: fc.constantFrom(1, 2),
  listener: fc.option(fc.constantFrom(...Object.keys(LISTENERS)), { nil: undefined }),
  canInterrupt: fc.boolean(),
  answer: fc.option(fc.constantFrom(...Object.keys(ANSWERS)), { nil: undefined }),
  audit: fc.boolean(),
  handedDown: fc.boolean(),
})

test('nothing runs that rules or people did not let run, whatever rules, people and ways there are (property)', async () => {
  const seen = { ran: 0, denied: 0, asked: 0, resumed: 0 }
  await fc.assert(
    fc.asyncProperty(story, async (given) => {
      const { path, kind, way, needs, n, listener, canInterrupt, answer } = given
      const log: unknown[] = []
      const make = (): Tool => {
        const tool = noting('t', log, {
          kind,
          ...(needs && { needsApproval: () => true }),
          ...(way === 'longRunning' && { longRunning: true }),
          ...(way === 'throw' && { onError: 'throw' }),
        })
        if (way !== 'stream') return tool
        return {
          ...tool,
          async *stream(args) {
            log.push(args)
            yield 'x'
          },
        }
      }
      const guarded = (list: readonly PolicyRule[]) => {
        const bus = createBus({ report: () => {} })
        if (listener !== undefined) bus.on('approval', LISTENERS[listener] as ApprovalListener)
        if (given.audit) bus.on('audit', () => {})
        const policy = createPolicy({ rules: list, bus })
        const inner = given.handedDown ? policy.guard(make(), { path: path.slice(0, -1) }) : make()
        return policy.guard(inner, { path })
      }
      const effect = (list: readonly PolicyRule[]) => {
        const said = decide(list, { path, tool: 't', kind, args: { n } }).effect
        return said === 'allow' && needs ? 'ask' : said
      }

      const call = callOf({ args: { n }, canInterrupt })
      const first = await call.attempt(guarded(given.rules))
      const asks = effect(given.rules) === 'ask'
      const answeredLive = listener === 'yes' || listener === 'no'
      const mayRun = effect(given.rules) === 'allow' || (asks && listener === 'yes')
      expect(log).toEqual(mayRun ? [{ n }] : [])
      const waits = asks && !answeredLive && canInterrupt
      expect(first.interrupts).toHaveLength(waits ? 1 : 0)
      if (!mayRun && !waits) expect(first.result?.error?.code).toMatch(/^(POLICY_DENIED|TOOL_REFUSED)$/)
      seen[mayRun ? 'ran' : waits ? 'asked' : 'denied']++
      if (!waits || answer === undefined) return

      const now = given.later ?? given.rules
      const [question] = first.interrupts
      await call.attempt(guarded(now), { [question?.id ?? '']: ANSWERS[answer] as Json })
      const goesOn = effect(now) === 'allow' || (effect(now) === 'ask' && answer === 'yes')
      expect(log).toEqual(goesOn ? [{ n }] : [])
      seen.resumed++
    }),
    { seed: 6, numRuns: 2000 },
  )
  // The property is about something.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(100)
})
