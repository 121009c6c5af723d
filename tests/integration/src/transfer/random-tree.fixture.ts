import { loop, parallel, sequential, setSubAgents, supervisor } from '@troupe/flow'
import type { Agent, CancelMode, ModelRequest } from '@troupe/kernel'
import type { ScriptedCall, ScriptedTurn } from '@troupe/testkit'
import fc from 'fast-check'
import { transferTo } from './scripted-tree.fixture.ts'

/** The shape of a tree; agents get their names in the order in which they are met. */
export interface Shape {
  readonly kind: 'agent' | 'supervisor' | 'sequential' | 'parallel' | 'loop'
  readonly children: readonly Shape[]
}

/** The names that agents can have; some are not used. */
export const NAMES = ['N0', 'N1', 'N2', 'N3', 'N4', 'N5', 'N6', 'N7'] as const

const shapes = fc.letrec<{ shape: Shape; inner: Shape; leaf: Shape }>((tie) => ({
  shape: fc.oneof({ maxDepth: 2, depthIdentifier: 'shape' }, tie('leaf'), tie('inner'), tie('inner'), tie('inner')),
  inner: fc.record({
    kind: fc.constantFrom<Shape['kind']>('agent', 'agent', 'supervisor', 'sequential', 'parallel', 'loop'),
    children: fc.array(tie('shape'), { minLength: 1, maxLength: 2, depthIdentifier: 'shape' }),
  }),
  leaf: fc.constant<Shape>({ kind: 'agent', children: [] }),
}))

export const shape: fc.Arbitrary<Shape> = shapes.shape

/** Builds the tree of a shape from agents by name. */
export function grow(shape: Shape, agents: Readonly<Record<string, Agent>>): Agent {
  let [next, works] = [0, 0]
  const take = (): Agent => {
    const agent = agents[`N${next++}`]
    if (!agent) throw new Error('the tree is too large')
    return agent
  }
  const build = ({ kind, children }: Shape): Agent => {
    if (kind === 'agent') {
      const head = take()
      return children.length === 0 ? head : setSubAgents(head, children.map(build))
    }
    if (kind === 'supervisor') return supervisor({ supervisor: take(), agents: children.map(build) })
    const name = `W${works++}`
    const parts = children.map(build)
    if (kind === 'sequential') return sequential({ name, agents: parts })
    return kind === 'parallel' ? parallel({ name, agents: parts }) : loop({ name, agents: parts, maxIterations: 2 })
  }
  return build(shape)
}

const plainly = (...names: readonly string[]) => fc.constantFrom(...names).map((name): ScriptedCall => ({ name }))
/** A transfer to the nth agent that can be reached, which is known when the model is called. */
const onward = fc.nat(3).map((nth) => transferTo(`#${nth}`))
const call: fc.Arbitrary<ScriptedCall> = fc.oneof(
  { weight: 5, arbitrary: plainly('guarded', 'asks', 'twice', 'slow', 'slower') },
  { weight: 4, arbitrary: plainly('plain', 'throws', 'fails', 'direct', 'unknown') },
  { weight: 2, arbitrary: fc.constant({ name: 'Inner', arguments: { request: 'Help.' } }) },
  { weight: 1, arbitrary: fc.constant({ name: 'exit', arguments: { final_result: 'Bye.' } }) },
  { weight: 1, arbitrary: fc.constant({ name: 'respond', arguments: { response: 'Enough.' } }) },
  { weight: 1, arbitrary: fc.constant({ name: 'transfer_to_agent', arguments: ['{"agent_na'] }) },
  { weight: 4, arbitrary: onward },
  { weight: 1, arbitrary: fc.constantFrom('N0', 'N1', 'N4', 'W0', 'Nobody').map(transferTo) },
)

/** The output of a model in one turn. */
export const turn: fc.Arbitrary<ScriptedTurn> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom('Well.', '') },
  { weight: 3, arbitrary: onward.map((call) => ({ toolCalls: [call] })) },
  {
    weight: 8,
    arbitrary: fc.record({
      text: fc.constantFrom('', 'Hm.'),
      toolCalls: fc.array(call, { minLength: 1, maxLength: 3 }),
    }),
  },
)

/** Replaces the numbered transfers of a turn with agents that the model can reach. */
export function withReachableAgents(turn: ScriptedTurn, { tools }: ModelRequest): ScriptedTurn {
  if (typeof turn === 'string') return turn
  const transferTool = tools.find(({ name }) => name === 'transfer_to_agent')?.parameters as
    | { readonly properties: { readonly agent_name: { readonly enum: readonly string[] } } }
    | undefined
  const names = transferTool?.properties.agent_name.enum ?? ['Nobody']
  const toolCalls = (turn.toolCalls ?? []).map((call) => {
    const { agent_name: nth = '' } = (call.arguments ?? {}) as { readonly agent_name?: string }
    if (!nth.startsWith('#')) return call
    // If no agent can be reached, the tool does not exist either.
    return transferTool ? transferTo(names[Number(nth.slice(1)) % names.length] ?? '') : { name: 'plain' }
  })
  return { ...turn, toolCalls }
}

/** One request to a thread: which of the open questions and results it answers, and whether the thread moves to another store first. */
export interface ThreadRequest {
  readonly what: 'answers' | 'results' | 'words'
  readonly pick: number
  readonly yes: boolean
  readonly move: boolean
  /** The event after which the run is cancelled. */
  readonly cancel?: { readonly at: number; readonly mode: CancelMode } | undefined
}

export const threadRequest: fc.Arbitrary<ThreadRequest> = fc.record({
  what: fc.constantFrom<ThreadRequest['what']>('answers', 'results', 'answers', 'results', 'words'),
  pick: fc.integer({ min: 1, max: 7 }),
  yes: fc.boolean(),
  move: fc.boolean(),
  cancel: fc.option(
    fc.record({
      at: fc.integer({ min: 0, max: 25 }),
      mode: fc.constantFrom<CancelMode>('now', 'after-model', 'after-tools'),
    }),
    { nil: undefined, freq: 4 },
  ),
})
