import type { Json, Tool, ToolKind } from '@troupe/kernel'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ApprovalListener } from './bus.ts'
import { createBus } from './create-bus.ts'
import { decide } from './decide.ts'
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

/** Only the first of these approves. */
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

const situation = fc.record({
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
  passedDown: fc.boolean(),
})

type Situation = typeof situation extends fc.Arbitrary<infer S> ? S : never

function toolOf({ kind, way, needs }: Situation, log: unknown[]): Tool {
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

function guarded(list: readonly PolicyRule[], given: Situation, log: unknown[]): Tool {
  const { listener, audit, path, passedDown } = given
  const bus = createBus({ report: () => {} })
  if (listener !== undefined) bus.on('approval', LISTENERS[listener] as ApprovalListener)
  if (audit) bus.on('audit', () => {})
  const policy = createPolicy({ rules: list, bus })
  const tool = toolOf(given, log)
  return policy.guard(passedDown ? policy.guard(tool, { path: path.slice(0, -1) }) : tool, { path })
}

function effectOf(list: readonly PolicyRule[], { path, kind, n, needs }: Situation): PolicyEffect {
  const { effect } = decide(list, { path, tool: 't', kind, args: { n } })
  return effect === 'allow' && needs ? 'ask' : effect
}

/** What happens to the call when it is made. */
function expectedOf(given: Situation): 'ran' | 'asked' | 'denied' {
  const { rules, listener, canInterrupt } = given
  const effect = effectOf(rules, given)
  if (effect === 'allow') return 'ran'
  if (effect === 'deny' || listener === 'no') return 'denied'
  if (listener === 'yes') return 'ran'
  return canInterrupt ? 'asked' : 'denied'
}

/** Whether the call runs when its question is answered and the rules decide again. */
function runsAfter(answer: string, given: Situation): boolean {
  const effect = effectOf(given.later ?? given.rules, given)
  return effect === 'allow' || (effect === 'ask' && answer === 'yes')
}

test('nothing runs that rules or people did not let run, whatever rules, people and ways there are (property)', async () => {
  const seen = { ran: 0, denied: 0, asked: 0, resumed: 0 }
  await fc.assert(
    fc.asyncProperty(situation, async (given) => {
      const { rules, later = rules, n, canInterrupt, answer } = given
      const log: unknown[] = []
      const call = callOf({ args: { n }, canInterrupt })
      const first = await call.attempt(guarded(rules, given, log))
      const expected = expectedOf(given)
      expect(log).toEqual(expected === 'ran' ? [{ n }] : [])
      expect(first.interrupts).toHaveLength(expected === 'asked' ? 1 : 0)
      if (expected === 'denied') expect(first.result?.error?.code).toMatch(/^(POLICY_DENIED|TOOL_REFUSED)$/)
      seen[expected]++
      if (expected !== 'asked' || answer === undefined) return

      const [question] = first.interrupts
      await call.attempt(guarded(later, given, log), { [question?.id ?? '']: ANSWERS[answer] as Json })
      expect(log).toEqual(runsAfter(answer, given) ? [{ n }] : [])
      seen.resumed++
    }),
    { seed: 6, numRuns: 2000 },
  )
  // The property is about something.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(100)
})
