import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentEvent } from '@troupe/kernel'
import { expect, test } from 'vitest'
import { EventFile } from './event-file.ts'

const event = (id: string) => ({ type: 'message-start', runId: id }) as unknown as AgentEvent

test('readers follow the newest lease, also if the process of an earlier one notes it late', () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-events-'))
  try {
    const [early, late] = [new EventFile(folder, 'early'), new EventFile(folder, 'late')]
    early.take(1)
    early.add(event('first'))
    late.take(3)
    late.add(event('second'))
    early.take(2)
    early.add(event('stale'))
    late.add(event('third'))
    early.take(4)
    early.add(event('fourth'))
    expect(early.all().map(({ runId }) => runId)).toEqual(['first', 'second', 'third', 'fourth'])
    for (const file of [early, late]) file.close()
  } finally {
    rmSync(folder, { recursive: true })
  }
})
