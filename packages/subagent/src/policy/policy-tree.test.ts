import type { Json, ToolKind } from '@troupe/kernel'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { agent, calling, completing, leadHarness } from '../lead.fixture.ts'
import { tool } from '../subagent.fixture.ts'
import { createBus } from './create-bus.ts'
import { decide } from './decide.ts'
import { createPolicy } from './policy.ts'
import type { PolicyEffect, PolicyRule } from './rule.ts'

/** What an agent does: it calls tools and other agents, all at once. */
interface Node {
  readonly uses: readonly ('look' | 'save' | 'run')[]
  readonly children: readonly Node[]
}
/** The same with names and numbers. */
interface Named {
  readonly name: string
  readonly uses: readonly { readonly tool: string; readonly n: number }[]
  readonly children: readonly { readonly n: number; readonly node: Named }[]
}

const KINDS: Record<string, ToolKind> = { look: 'read', save: 'write', run: 'execute' }
const use = fc.constantFrom<'look' | 'save' | 'run'>('look', 'save', 'run')
const node = (depth: number): fc.Arbitrary<Node> =>
  fc.record({
    uses: fc.array(use, { maxLength: 3 }),
    children: depth === 0 ? fc.constant([]) : fc.array(node(depth - 1), { maxLength: 2 }),
  })
const rule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    effect: fc.constantFrom<PolicyEffect>('deny', 'ask', 'allow', 'allow'),
    agent: fc.constantFrom('', 'n0', 'n0/**', '**', '*/*', 'n0/n1', '**/n2', '**/n3'),
    tool: fc.constantFrom('look', 'save', 'run', 'n*', '*'),
    kind: fc.constantFrom<ToolKind>('read', 'write', 'execute', 'think'),
    args: fc.constantFrom<NonNullable<PolicyRule['args']>>({ n: { equals: 3 } }, { n: { not: { equals: 4 } } }),
  },
  { requiredKeys: ['effect'] },
)

test('policy cannot be bypassed in 2,000 random trees of agents (property)', async () => {
  const seen = { ran: 0, kept: 0, asked: 0 }
  await fc.assert(
    fc.asyncProperty(
      node(2),
      fc.array(rule, { maxLength: 5 }),
      fc.boolean(),
      fc.boolean(),
      async (root, rules, live, waits) => {
        const tree = named(root)
        const lead: Named = { name: 'lead', uses: [], children: [{ n: 600, node: tree }] }
        const bus = createBus()
        if (live) bus.on('approval', ({ args }) => liveAnswer(numberOf(args)))
        const ran: number[] = []
        const invoke = (args: unknown) => `${ran.push(numberOf(args as Json))}`
        const all = flat(tree)
        const s = leadHarness({
          agents: all.map((one) =>
            agent(one.name, {
              tools: [
                ...Object.keys(KINDS),
                ...flat(one)
                  .slice(1)
                  .map(({ name }) => name),
              ],
            }),
          ),
          tools: Object.entries(KINDS).map(([name, kind]) => tool(name, { kind, invoke })),
          guard: createPolicy({ rules, bus }).guard,
          scripts: {
            lead: [turnOf(lead), 'Done.'],
            ...Object.fromEntries(all.map((one) => [one.name, [turnOf(one), completing()]])),
          },
        })
        let recording = await s.run({ canInterrupt: waits })
        for (let i = 0; recording.asked.length > 0 && i < 10; i++) {
          seen.asked++
          const questions = recording.end?.interrupts ?? []
          recording = await s.resume(
            Object.fromEntries(
              questions.map(({ id, metadata }) => [
                id,
                { approved: laterAnswer(numberOf(JSON.parse(`${metadata?.arguments}`))) },
              ]),
            ),
          )
        }
        const expected = mayRun(lead, [], rules, { live, waits })
        expect(ran.toSorted((a, b) => a - b)).toEqual(expected.toSorted((a, b) => a - b))
        expect(recording.end?.outcome).toBe('complete')
        seen.ran += ran.length
        seen.kept += all.flatMap(({ uses }) => uses).length - ran.length
      },
    ),
    { seed: 6, numRuns: 2000 },
  )
  // The property is about something.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(500)
}, 120_000)

const liveAnswer = (n: number) => (n % 3 === 2 ? undefined : { approved: n % 3 === 0 })
const laterAnswer = (n: number) => n % 2 === 0

/** The numbers of the calls that rules and people let run, by the definition of policy and not by its guard. */
function mayRun(
  { uses, children }: Named,
  path: readonly string[],
  rules: readonly PolicyRule[],
  people: { readonly live: boolean; readonly waits: boolean },
): number[] {
  const may = (name: string, kind: ToolKind, args: unknown, n: number, calls?: string): boolean => {
    const { effect } = decide(rules, { path, tool: name, kind, args, ...(calls !== undefined && { calls }) })
    if (effect !== 'ask') return effect === 'allow'
    const answer = people.live ? liveAnswer(n) : undefined
    return answer ? answer.approved : people.waits && laterAnswer(n)
  }
  return [
    ...uses.filter(({ tool: name, n }) => may(name, KINDS[name] as ToolKind, { n }, n)).map(({ n }) => n),
    ...children
      .filter(({ n, node: { name } }) => may(name, 'think', { task: `${n}` }, n, name))
      .flatMap(({ node: child }) => mayRun(child, [...path, child.name], rules, people)),
  ]
}

/** A call is known by its number: an argument of a tool, the task of an agent. */
function numberOf(args: Json): number {
  const { n, task } = args as { readonly n?: number; readonly task?: string }
  return n ?? Number(task)
}

function named(root: Node): Named {
  let agents = 0
  let calls = 0
  const name = ({ uses, children }: Node): Named => ({
    name: `n${agents++}`,
    uses: uses.map((one) => ({ tool: one, n: calls++ })),
    children: children.map((child) => ({ n: calls++, node: name(child) })),
  })
  return name(root)
}

function flat(root: Named): readonly Named[] {
  return [root, ...root.children.flatMap(({ node: child }) => flat(child))]
}

function turnOf({ uses, children }: Named) {
  const calls = [
    ...uses.map(({ tool: name, n }) => ({ name, arguments: { n } })),
    ...children.map(({ n, node: { name } }) => ({ name, arguments: { task: `${n}` } })),
  ]
  return calls.length === 0 ? completing() : calling(...calls)
}
