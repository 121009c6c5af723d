import { EventType } from '@ag-ui/core'
import type { AgUiEvent, AgUiHandlerOptions, MessageOptions } from '@troupe/ag-ui'
import { describe, expect, test } from 'vitest'
import { beginsWith, joined } from './joined.fixture.ts'
import { ANN, world } from './killable.fixture.ts'
import { checkLog, clientOf, followed, logOf, meanwhile, serve, storedMessages } from './served.fixture.ts'
import { LESS, type Make, SEEN_IN_PART, SHAPES } from './shapes.fixture.ts'

const PICK = { name: 'pick', description: 'Picks', parameters: { type: 'object', properties: {} } }

/** Runs in a process that is killed at a write, then continues in another one. */
async function killed(make: Make, write: number, done: boolean, options: Partial<AgUiHandlerOptions> = {}) {
  const here = world()
  const one = here.start(make('one'), {}, { write, done, log: true })
  const client = clientOf(serve(one, here, options))
  client.messages = [{ id: 'u1', role: 'user', content: 'Go' }]
  await meanwhile(here, Promise.race([client.runAgent({ runId: 'R', tools: [PICK] }), one.killed]), 1)
  const before = one.alive ? undefined : await logOf(here.store).catch(() => [])
  here.expire()
  const two = serve(here.start(make('two')), here, options)
  const seen: AgUiEvent[] = []
  const reader = clientOf(two, seen)
  await meanwhile(here, reader.connectAgent(), 1)
  return { here, before, seen, reader, two }
}

/** Checks what is left of a run that was killed and continued. */
async function check(
  { here, before = [], reader, two }: Awaited<ReturnType<typeof killed>>,
  view: MessageOptions = {},
): Promise<void> {
  const log = await followed(two, here)
  try {
    checkLog(log)
    expect(joined(await logOf(here.store))).toEqual(joined(log))
    expect(beginsWith(log, before)).toBe(true)
    const [said, inside] = [reader.messages.filter(isOuter), reader.messages.filter((message) => !isOuter(message))]
    expect(byId(said)).toEqual(byId(await storedMessages(here, view)))
    for (const { role, content } of inside) if (role === 'assistant') expect(content).toMatch(/^(one|two): [^:]*$/)
    const thread = await here.store.threads.get(ANN)
    expect([thread?.unfinished, reader.state]).toEqual([undefined, thread?.state])
    expect(outputsOf(log)).toEqual(outputsOf(log).map(() => 'half whole'))
    expect(two.reported).toEqual([])
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${log.map((event) => JSON.stringify(event)).join('\n')}`, {
      cause: error,
    })
  }
}

function isOuter(message: { readonly subagentRunId?: string | null }): boolean {
  return message.subagentRunId === undefined
}

/** Branches that run side by side are stored one after the other. */
function byId<T extends { readonly id: string }>(messages: readonly T[]): readonly T[] {
  return messages.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** What each tool has shown. */
function outputsOf(log: readonly AgUiEvent[]): readonly string[] {
  const outputs = new Map<string, string>()
  for (const event of log) {
    if (event.type !== EventType.CUSTOM || event.name !== 'tool-delta') continue
    const { toolCallId, delta } = event.value
    outputs.set(toolCallId, (outputs.get(toolCallId) ?? '') + delta)
  }
  return [...outputs.values()]
}

describe.each(Object.entries(SHAPES))('a run of %s', async (_, make) => {
  const { here: whole } = await killed(make, 0, true)
  const moments = whole.writes.flatMap((name, i) => [
    ...(i === 0 ? [] : [[`before write ${i + 1}, ${name}`, i + 1, false] as const]),
    [`after write ${i + 1}, ${name}`, i + 1, true] as const,
  ])

  test.each(moments)('that is killed %s, goes on for whoever joins its thread', async (_, write, done) => {
    await check(await killed(make, write, done))
  })
})

describe.each(Object.entries(SEEN_IN_PART))('a run of %s, seen in part', async (_, make) => {
  const options = { show: { omit: LESS.omit }, clientTools: { prefix: LESS.clientToolPrefix } }
  const { here: whole } = await killed(make, 0, true, options)
  const moments = whole.writes.flatMap((_, i) => [
    ...(i === 0 ? [] : [[i + 1, false] as const]),
    [i + 1, true] as const,
  ])

  test.each(moments)('that is killed at write %i, done: %s, goes on without the rest', async (write, done) => {
    const run = await killed(make, write, done, options)
    await check(run, LESS)
    const log = await logOf(run.here.store)
    expect(JSON.stringify(log.slice(0, -1))).not.toMatch(/city|"page_|Hm/)
    expect(log.at(-1)).toMatchObject({ outcome: { type: 'success' } })
  })
})
