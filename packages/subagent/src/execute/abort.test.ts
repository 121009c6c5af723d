import { KernelError } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { agent, calling, completing, leadHarness } from '../lead.fixture.ts'
import { tool } from '../subagent.fixture.ts'

const idle = () => new Promise((resolve) => setImmediate(resolve))

describe('an abort goes all the way down', () => {
  const deep = () =>
    leadHarness({
      agents: [agent('a', { tools: ['b'] }), agent('b')],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling('b'), completing()],
        b: [{ hang: 'before' }, completing()],
      },
    })

  test('and never triggers a grace turn', async () => {
    const s = deep()
    const controller = new AbortController()
    const running = s.run({ signal: controller.signal })
    await idle()
    controller.abort(new KernelError('ABORTED', 'test: stop'))
    const { end, events } = await running
    expect(end?.outcome).toBe('cancelled')
    expect([s.models.a?.requests.length, s.models.b?.requests.length, s.clock.pending]).toEqual([1, 1, 0])
    expect(
      events.flatMap((event) => (event.type === 'run-end' ? [`${event.agentName} ${event.outcome}`] : [])),
    ).toEqual(['b cancelled', 'a cancelled', 'lead cancelled'])
  })

  test('also while the grace turn is under way', async () => {
    const s = leadHarness({
      agents: [agent('a')],
      scripts: { lead: [calling('a'), 'Done.'], a: ['Hm.', { hang: 'before' }] },
    })
    const controller = new AbortController()
    const running = s.run({ signal: controller.signal })
    await idle()
    controller.abort(new KernelError('ABORTED', 'test: stop'))
    const { end, results } = await running
    expect([end?.outcome, results, s.models.a?.requests.length]).toEqual(['cancelled', [], 2])
  })

  test('at every point of a run: it ends cancelled, or had ended, and no timer stays', async () => {
    for (let at = 0; ; at++) {
      const s = leadHarness({
        agents: [agent('a', { tools: ['b'] }), agent('b', { limits: { maxTurns: 1 }, tools: [] })],
        scripts: { lead: [calling('a'), 'Done.'], a: [calling('b'), 'Hm.', completing()], b: ['Hm.', completing()] },
      })
      const controller = new AbortController()
      let seen = 0
      const callbacks = [
        {
          name: 'stop',
          run: { onPart: () => void (seen++ === at && controller.abort(new KernelError('ABORTED', 'test: stop'))) },
        },
      ]
      const { end } = await s.run({ signal: controller.signal, callbacks })
      expect(s.clock.pending).toBe(0)
      if (!controller.signal.aborted) {
        expect([at > 40, end?.outcome]).toEqual([true, 'complete'])
        break
      }
      expect(['cancelled', 'complete'], `stopped at ${at}`).toContain(end?.outcome)
    }
  })

  test('a soft cancel ends the agent between its steps, and its caller after it', async () => {
    let cancelling: 'after-tools' | undefined
    const s = leadHarness({
      agents: [agent('a', { tools: ['look'] })],
      tools: [
        tool('look', {
          invoke: () => {
            cancelling = 'after-tools'
            return 'looked'
          },
        }),
      ],
      scripts: { lead: [calling('a'), 'Done.'], a: [calling({ name: 'look' }), completing()] },
    })
    const { end } = await s.run({ cancelling: () => cancelling })
    expect([end?.outcome, s.models.a?.requests.length, s.models.lead?.requests.length]).toEqual(['cancelled', 1, 1])
  })
})
