import { EventType } from '@ag-ui/core'
import type { AgUiEvent, AgUiHandlerOptions } from '@troupe/ag-ui'
import { chatModelAgent } from '@troupe/chat-model'
import { type Agent, defineTool, type ModelRequest, type Tool } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { expect } from 'vitest'
import { type Process, type World, world } from './killable.fixture.ts'
import { clientOf, logOf, serve } from './served.fixture.ts'

export const ASKED: readonly { id: string; role: 'user'; content: string }[] = [
  { id: 'u1', role: 'user', content: 'Go' },
]

/** An agent that looks something up and answers; its process hangs in the tool until it is killed. */
export function desk(
  look: NonNullable<Tool['invoke']>,
  more: Partial<Parameters<typeof chatModelAgent>[0]> = {},
): Agent {
  const turn = ({ messages }: ModelRequest) =>
    messages.some(({ role }) => role === 'tool')
      ? 'It is red.'
      : { text: 'I look. ', toolCalls: [{ id: 'c1', name: 'look' }] }
  return chatModelAgent({
    name: 'desk',
    model: scriptedModel([turn], { repeat: true }),
    tools: [
      defineTool({
        name: 'look',
        description: 'Looks',
        parameters: { type: 'object' },
        effect: 'idempotent',
        invoke: look,
      }),
    ],
    ...more,
  })
}

/** A run whose process was killed in its tool, and a second process. */
export interface LostRun {
  readonly here: World
  /** Which processes have run the tool. */
  readonly looked: readonly string[]
  readonly two: Process
  readonly handler: ReturnType<typeof serve>
  /** Starts one more process. */
  start(): Process
}

/** Loses a run. */
export async function lost(
  options: Partial<AgUiHandlerOptions> = {},
  { expired = true, agent = desk }: { readonly expired?: boolean; readonly agent?: typeof desk } = {},
): Promise<LostRun> {
  const here = world()
  const called = Promise.withResolvers<void>()
  const looked: string[] = []
  const one = here.start(
    agent(() => {
      looked.push('one')
      called.resolve()
      return new Promise(() => {})
    }),
  )
  const client = clientOf(serve(one, here))
  client.messages = [...ASKED]
  void client.runAgent({ runId: 'R', tools: [TOOL], forwardedProps: { locale: 'zh' } })
  await called.promise
  await expect.poll(async () => (await logOf(here.store)).at(-1)?.type).toBe(EventType.TEXT_MESSAGE_END)
  one.kill()
  if (expired) here.expire()
  const start = () =>
    here.start(
      agent(() => {
        looked.push('two')
        return 'red'
      }),
    )
  const two = start()
  return { here, looked, two, start, handler: serve(two, here, options) }
}

const TOOL = { name: 'pick', description: 'Picks', parameters: { type: 'object', properties: {} } }

export const get = (path: string): Request => new Request(`http://localhost${path}`)
export const post = (path: string, body?: unknown): Request =>
  new Request(`http://localhost${path}`, {
    method: 'POST',
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })

export function textOf(events: readonly AgUiEvent[]): string {
  return events.map((event) => (event.type === EventType.TEXT_MESSAGE_CONTENT ? event.delta : '')).join('')
}

const nextTask = () => new Promise((resolve) => setImmediate(resolve))

export const calm = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await nextTask()
}

export const until = async (holds: () => unknown): Promise<void> => {
  while (!holds()) await nextTask()
}
