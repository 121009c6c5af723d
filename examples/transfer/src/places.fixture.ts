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
import { calling, type Theatre, type TheatreOptions, theatre, toAgent } from './theatre.fixture.ts'

type Script = Parameters<typeof scriptedModel>[0]
type Name = 'Worker' | 'Lead' | 'Other'
type Extras = NonNullable<NonNullable<TheatreOptions<'Worker'>['with']>['Worker']>

interface Place {
  readonly lead?: Script
  readonly other?: Script
  /** What the run says in the end, where it is not the worker who has the last word. */
  readonly last?: string
  build(agents: Readonly<Record<Name, Agent>>): Agent
}

const request = (name: string) => calling({ id: `ask-${name}`, name, arguments: { request: 'Do it.' } })

/** Where an agent can stand. */
export const PLACES: Readonly<Record<string, Place>> = {
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

/** A theatre whose worker stands at a place; what it does is up to the test. */
export function at(
  place: string,
  script: Script,
  extras: Extras,
): { readonly stage: Theatre<Name>; readonly last: string | undefined } {
  const { lead = [], other = [], last, build } = PLACES[place] as Place
  // A tool needs its agent made before the agent that has it.
  let worker: Agent | undefined
  const nested = place === 'a tool'
  const stage = theatre(
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
                name: 'lends',
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
  return { stage, last }
}
