import type { Callback, Json } from '@troupe/kernel'
import { expect, test } from 'vitest'
import { broken } from './broken-run.fixture.ts'
import { ANN, checkpointOf, session, setup, tamper } from './runner.fixture.ts'

/** A callback that keeps a number for each run, and what the runs were given of it. */
function keeping() {
  let runs = 0
  const seen: (Json | undefined)[] = []
  const callback: Callback = {
    name: 'trace',
    keep: () => ({ run: runs }),
    run: {
      onStart: ({ kept }) => {
        runs++
        seen.push(kept?.trace)
      },
    },
  }
  return { seen, callbacks: [callback] }
}

test('a run that answers has what was kept with the run that asked, and the next one that of this run', async () => {
  const { seen, callbacks } = keeping()
  const env = setup({ callbacks })
  const desk = env.runner()
  await desk.query('call ask:b ask:c', session)
  await desk.resume(await env.answers({ b: 'yes' }), session)
  await env.runner().resume(await env.answers({ c: 'yes' }), session)
  await desk.query('hi', session)
  expect(seen).toEqual([undefined, { run: 1 }, { run: 2 }, undefined])
})

test.each(['step', 'turn'] as const)('a question is kept with it, stored by %s', async (durability) => {
  const { seen, callbacks } = keeping()
  const env = setup({ callbacks, durability })
  await env.runner().query('call ask:b', session)
  await env.runner().resume(await env.answers({ b: 'yes' }), session)
  expect(seen).toEqual([undefined, { run: 1 }])
})

test('a run that is continued has what was kept with the first step that was recorded', async () => {
  const { seen, callbacks } = keeping()
  const env = await broken({ callbacks })
  env.expire()
  await env.runner().continue(ANN)
  expect(seen).toEqual([undefined, { run: 1 }])
})

test('a checkpoint in which it is malformed is refused', async () => {
  const { callbacks } = keeping()
  const env = setup({ callbacks })
  await env.runner().query('call ask:b', session)
  await tamper(env, (checkpoint) => ({ ...checkpoint, state: { ...Object(checkpoint.state), callbacks: 7 } }))
  const answers = { [(await checkpointOf(env))?.interrupts[0]?.id ?? '']: 'yes' }
  await expect(Promise.resolve(env.runner().resume(answers, session))).rejects.toMatchObject({
    code: 'CHECKPOINT_INVALID',
  })
})
