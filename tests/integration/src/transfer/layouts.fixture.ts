import {
  agentTool,
  breakLoopTool,
  loop,
  parallel,
  planExecute,
  sequential,
  setSubAgents,
  supervisor,
} from '@troupe/flow'
import type { Agent } from '@troupe/kernel'
import type { scriptedModel } from '@troupe/testkit'
import { calling, type ScriptedTree, type ScriptedTreeOptions, scriptedTree, toAgent } from './scripted-tree.fixture.ts'

type Script = Parameters<typeof scriptedModel>[0]
type Name = 'Worker' | 'Lead' | 'Other'
type Extras = NonNullable<NonNullable<ScriptedTreeOptions<'Worker'>['with']>['Worker']>

interface Layout {
  readonly lead?: Script
  readonly other?: Script
  /** The text of the run, if the worker is not the last agent. */
  readonly last?: string
  build(agents: Readonly<Record<Name, Agent>>): Agent
}

const request = (name: string) => calling({ id: `ask-${name}`, name, arguments: { request: 'Do it.' } })

/** Every position that an agent can have, as a tree around the worker. */
export const LAYOUTS: Readonly<Record<string, Layout>> = {
  'the root': { build: ({ Worker }) => Worker },
  'a transfer target': {
    lead: [toAgent('Worker')],
    build: ({ Lead, Worker }) => setSubAgents(Lead, [Worker]),
  },
  'a step of a sequence': {
    lead: ['Lead first.'],
    other: ['Other last.'],
    last: 'Other last.',
    build: ({ Lead, Worker, Other }) => sequential({ name: 'Steps', agents: [Lead, Worker, Other] }),
  },
  'a branch': {
    other: ['Other beside.'],
    build: ({ Worker, Other }) => parallel({ name: 'Branches', agents: [Other, Worker] }),
  },
  'a round of a loop': {
    other: ['Other one.', 'Other two.'],
    build: ({ Worker, Other }) => loop({ name: 'Rounds', agents: [Other, Worker], maxIterations: 1 }),
  },
  'an agent of a supervisor': {
    lead: [toAgent('Worker'), 'Lead is content.'],
    last: 'Lead is content.',
    build: ({ Lead, Worker }) => supervisor({ supervisor: Lead, agents: [Worker] }),
  },
  'an executor': {
    lead: ['The plan.'],
    other: [calling({ id: 'r', name: 'respond', arguments: { response: 'As planned.' } })],
    last: 'As planned.',
    build: ({ Lead, Worker, Other }) =>
      planExecute({ name: 'Plan', planner: Lead, executor: Worker, replanner: Other }),
  },
  'a tool': {
    lead: [request('Worker'), 'Lead has heard.'],
    last: 'Lead has heard.',
    build: ({ Lead }) => Lead,
  },
  'a sequence in a branch below a transfer': {
    lead: [toAgent('Both')],
    other: ['Other beside.'],
    build: ({ Lead, Worker, Other }) =>
      setSubAgents(Lead, [
        parallel({ name: 'Both', agents: [Other, sequential({ name: 'Steps', agents: [Worker] })] }),
      ]),
  },
}

/** Builds a scripted tree whose worker has the given position; the test decides what the worker does. */
export function workerIn(
  layout: string,
  script: Script,
  extras: Extras,
): { readonly tree: ScriptedTree<Name>; readonly last: string | undefined } {
  const { lead = [], other = [], last, build } = LAYOUTS[layout] as Layout
  // The agent of a tool has to exist before the agent that uses the tool.
  let worker: Agent | undefined
  const nested = layout === 'a tool'
  const tree = scriptedTree(
    { Worker: script, Lead: [...lead, ...lead], Other: [...other, ...other] },
    (agents) => {
      worker = agents.Worker
      return build(agents)
    },
    {
      with: {
        Worker: extras,
        Other: { tools: [breakLoopTool()] },
        ...(nested && {
          Lead: {
            handlers: [
              {
                name: 'adds-tool',
                beforeAgent(_, config) {
                  if (worker) config.tools.push({ tool: agentTool(worker, { forward: true }), returnDirectly: false })
                },
              },
            ],
          },
        }),
      },
    },
  )
  return { tree, last }
}
