import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentsOf } from './agents.ts'
import { faultsOf } from './check-run.ts'
import { Effects } from './effects.ts'
import { PLACES, type Place, told } from './places.ts'
import { read, talk } from './talk.ts'

/** What the first place has shown. */
const shown: Record<string, unknown> = {}

describe.each(PLACES)('%s', (name, open) => {
  let place: Place
  let home: string
  const stack = new AsyncDisposableStack()
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'troupe-bodies-'))
    stack.defer(() => rmSync(home, { recursive: true, force: true }))
    place = await open(stack, home, agentsOf(new Effects(join(home, 'effects'))))
  })
  afterAll(() => stack.disposeAsync())

  /** Expects to see here what was seen elsewhere. */
  const same = (what: string, value: unknown) => {
    shown[what] ??= value
    expect([name, value]).toEqual([name, shown[what]])
  }

  it.each([
    ['assistant', { turns: 2, calls: ['send', 'look'] }],
    ['desk', { turns: 1, calls: ['helper'] }],
    ['assistant', { turns: 0 }],
  ] as const)('a conversation with %s: %o', async (agent, plan) => {
    const run = talk(place.runner(agent), plan)
    const end = await run.ended
    expect(await faultsOf(place.store, run.ref, run.runId, run.events)).toEqual([])
    same(`${agent} ${JSON.stringify(plan)}`, told(run.events))
    same(`end of ${agent} ${JSON.stringify(plan)}`, end?.type === 'run-end' && [end.outcome, end.usage])
    const thread = await place.store.threads.get(run.ref)
    same(`keys of ${agent} ${JSON.stringify(plan)}`, Object.keys(thread?.state ?? {}).sort())
  })

  it('branches beside each other', async () => {
    const run = talk(place.runner('team'), { turns: 2, calls: ['send'] })
    await run.ended
    expect(await faultsOf(place.store, run.ref, run.runId, run.events)).toEqual([])
    same('team', [...told(run.events)].sort())
  })

  it('a question, its answer, and a message that is refused meanwhile', async () => {
    const chat = place.runner('assistant')
    const asking = talk(chat, { turns: 1, calls: ['pay', 'look'] })
    const asked = await asking.ended
    same('asking', told(asking.events))
    await expect(chat.run('Well?', { session: asking.ref })).rejects.toMatchObject({ code: 'PENDING_TOOL_CALLS' })
    const [question] = asked?.type === 'run-end' ? (asked.interrupts ?? []) : []
    const runId = `${asking.runId}-answered`
    const resumed = chat.resume({ [question?.id ?? '']: { approved: false } }, { session: asking.ref, runId })
    const answered = read(resumed, asking.ref, runId)
    await answered.ended
    same('answered', told(answered.events))
    expect((await place.store.threads.messages(asking.ref)).map(({ message }) => message.role)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
      'assistant',
    ])
  })
})
