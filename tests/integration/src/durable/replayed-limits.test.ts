import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, parallel } from '@troupe/flow'
import type { Agent } from '@troupe/kernel'
import { nextMacrotask } from '@troupe/kernel/kit'
import { fakeClock, type ScriptedTurn, scriptedModel, testReplay } from '@troupe/testkit'

const calling = (...names: readonly string[]): ScriptedTurn => ({ toolCalls: names.map((name) => ({ name })) })

const agentOf = (
  name: string,
  script: { readonly [step: string]: ScriptedTurn | (() => ScriptedTurn) },
  options: object = {},
): Agent => chatModelAgent({ name, description: name, model: scriptedModel(script), retry: false, ...options })

const clock = fakeClock()
const settings = { clock }
/** Lets the time run out as soon as everybody waits. */
const timeIsOver = () => void nextMacrotask().then(() => clock.advance(30))
const hanging = () => {
  timeIsOver()
  return { text: 'I thi', hang: 'mid' } as const
}

testReplay(
  'an agent as a tool, which exceeds its time',
  () =>
    agentOf(
      'a',
      { 'model:0': calling('slow'), 'model:1': 'It took too long.' },
      {
        tools: [
          agentTool(agentOf('slow', { 'model:0': hanging }, { runTimeoutMs: 30 }), {
            parameters: { type: 'object' },
          }),
        ],
      },
    ),
  { settings },
)

testReplay(
  'a tool and a model that exceed their time',
  () =>
    agentOf(
      'a',
      { 'model:0': calling('wait'), 'model:1': hanging },
      {
        modelTimeoutMs: 30,
        toolTimeoutMs: 30,
        tools: [
          {
            name: 'wait',
            description: '',
            parameters: { type: 'object' },
            kind: 'read',
            invoke: () => {
              timeIsOver()
              return new Promise<never>(() => undefined)
            },
          },
        ],
      },
    ),
  { settings },
)

testReplay('branches, of which one fails and stops the others', () =>
  agentOf(
    'a',
    { 'model:0': calling('both'), 'model:1': 'It failed.' },
    {
      tools: [
        agentTool(
          parallel({
            name: 'both',
            description: 'both',
            agents: [
              agentOf('fails', { 'model:0': { error: { at: 'before', error: new Error('no') } } }),
              agentOf('waits', { 'model:0': { text: 'I thi', hang: 'mid' } }),
            ],
          }),
          { parameters: { type: 'object' } },
        ),
      ],
    },
  ),
)
