import { agUiHandler } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import type { Store } from '@troupe/kernel'
import { answerModel } from './answer-model.ts'
import { runInput } from './run-input.ts'

/** Measures the milliseconds from the kernel's first event of a run to the client's first bytes. */
export async function firstEventMs(
  store: Store,
  runs: number,
): Promise<{ readonly median: number; readonly p95: number }> {
  const startedAt = new Map<string, number>()
  const callbacks = [
    {
      name: 'stopwatch',
      run: {
        onPart: ({ runId }: { runId: string }) =>
          void (startedAt.has(runId) || startedAt.set(runId, performance.now())),
      },
    },
  ]
  const agent = chatModelAgent({ name: 'Load', model: answerModel(), instruction: 'Answer.' })
  const owner = { app: 'load', user: 'ann' }
  const handler = agUiHandler({ runner: runner({ agent, store, callbacks }), store, owner })
  await using server = await agUiServer(handler)
  const times: number[] = []
  for (let i = 0; i < runs; i++) {
    const body = runInput(`l${i}`, `l${i}`, { deltas: 5 })
    const response = await fetch(server.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const reader = response.body?.getReader()
    await reader?.read()
    times.push(performance.now() - (startedAt.get(`l${i}`) ?? 0))
    while (!(await reader?.read())?.done);
  }
  await handler.stop(0)
  const sorted = times.slice(Math.floor(runs / 5)).sort((a, b) => a - b)
  const at = (part: number) => Math.round((sorted[Math.floor(sorted.length * part)] ?? 0) * 100) / 100
  return { median: at(0.5), p95: at(0.95) }
}
