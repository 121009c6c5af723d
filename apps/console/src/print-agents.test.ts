import { describe, loop, sequential, setSubAgents } from '@troupe/flow'
import { type Agent, say } from '@troupe/kernel'
import { expect, it } from 'vitest'
import { printAgents } from './print-agents.ts'

const agent = (name: string): Agent => ({
  name,
  description: `${name} is here.`,
  acceptsAdditions: true,
  run: (_, ctx) => say(ctx, name),
})

it('draws the tree, workflows with what they are made of', () => {
  const report = sequential({ name: 'report', agents: [agent('a'), loop({ name: 'twice', agents: [agent('b')] })] })
  const page = printAgents(describe(setSubAgents(agent('root'), [report, agent('c')])))
  expect(page).toContain(`root: root is here.
├─ sequential report: sequential of a, twice
│  ├─ a: a is here.
│  └─ loop twice: loop of b
│     └─ b: b is here.
└─ c: c is here.

flowchart TD
  a0["root"]`)
})
