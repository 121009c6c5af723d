import { type Agent, KernelError } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { fakeClock, record } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { agentOf, failing, hello, idle, never, runToEnd, talker, transferring } from '../flow.fixture.ts'
import { setSubAgents } from '../index.ts'
import { scriptedAgent } from '../scripted-agent.fixture.ts'

describe('agents that do not do their part', () => {
  const under = (child: Agent) => setSubAgents(transferring('lead', 'child'), [child])

  test('a target that throws ends the run with its error, shown once', async () => {
    const { errors, end, lines } = await runToEnd(under(failing('child', new KernelError('MINE', 'mine: no'))))
    expect([errors, end]).toMatchObject([[{ code: 'MINE' }], { outcome: 'failed', error: { code: 'MINE' } }])
    expect(lines.filter((line) => line.includes('agent-end'))).toEqual([
      'lead agent-end complete',
      'lead/child agent-end failed',
    ])
  })

  test('a target that throws rejects with that very error', async () => {
    const error = new KernelError('MINE', 'mine: no')
    await expect(Promise.resolve(startRun(under(failing('child', error)), hello))).rejects.toBe(error)
  })

  test('a target that ends without a message keeps the messages before it', async () => {
    const { end, turns } = await runToEnd(under(scriptedAgent('child', [])))
    expect([end?.outcome, end?.text, turns.length]).toEqual(['complete', 'lead', 2])
  })

  test('a target that hangs ends with the run, when that is aborted', async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    const run = startRun(
      under(agentOf('child', () => ({ [Symbol.asyncIterator]: () => ({ next: () => never }) }))),
      hello,
      {
        clock,
        signal: controller.signal,
      },
    )
    const reading = record(run)
    await idle()
    controller.abort()
    await idle()
    clock.advance(1_000)
    const { lines, end } = await reading
    expect(end?.outcome).toBe('cancelled')
    expect(lines.filter((line) => line.includes('agent-end'))).toEqual([
      'lead agent-end complete',
      'lead/child agent-end cancelled',
    ])
    expect(clock.pending).toBe(0)
  })

  test('a soft cancel is obeyed between two agents', async () => {
    for (const mode of ['after-model', 'after-tools'] as const) {
      let cancelling = false
      const lead = agentOf('lead', async function* () {
        yield { type: 'action', action: { type: 'transfer-to-agent', agentName: 'child' } }
        cancelling = true
      })
      const settings = { cancelling: () => (cancelling ? mode : undefined) }
      const { turns, end } = await runToEnd(setSubAgents(lead, [talker('child')]), hello, settings)
      expect([turns, end?.outcome, end?.error?.code]).toEqual([['lead'], 'cancelled', 'ABORTED'])
    }
  })
})
