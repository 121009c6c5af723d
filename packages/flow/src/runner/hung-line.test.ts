import { memoryStore } from '@troupe/kernel/memory-store'
import { expect, test } from 'vitest'
import { idle, session, settled, stage, tapped } from './runner.fixture.ts'

// A run that was stopped while the store hung keeps its place in the line, and everybody behind it waits for queueMs.
test.fails('queue: a run that has ended without its lease holds nobody up, whatever the store does', async () => {
  let hangs = true
  const world = stage({ busy: 'queue', limits: { runMs: 1_000, queueMs: 60_000 } }, (clock) =>
    tapped(memoryStore({ clock }), (name) =>
      hangs && name === 'leases.acquire' ? new Promise<void>(() => {}) : undefined,
    ),
  )
  const desk = world.runner()
  const first = settled(desk.query('first', session))
  await world.pass(70_000, 1_000)
  expect(await first).toBe('TIMEOUT')
  hangs = false
  let how: string | undefined
  settled(desk.query('next', session)).then((result) => {
    how = result
  })
  await idle()
  await idle()
  expect(how).toBe('heard next')
})
