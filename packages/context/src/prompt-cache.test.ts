import type { AgentConfig, RunOptions, ThreadRef } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { expect, it } from 'vitest'
import { promptCache } from './index.ts'

/** The options of a run of this thread. */
function optionsOf(session: ThreadRef, runOptions: RunOptions = {}, ttl?: '1h'): RunOptions {
  const config: AgentConfig = { instruction: '', tools: [], input: { messages: [] }, runOptions }
  promptCache(ttl && { ttl }).beforeAgent?.(createRunContext({ session }), config)
  return config.runOptions
}
const keyOf = (app: string, user: string, threadId: string) =>
  optionsOf({ app, user, threadId }).model?.cache?.key ?? ''

it('gives each thread a key of its own, the same in each run, which does not tell its name', () => {
  const keys = ['a', 'b'].flatMap((app) =>
    ['ann', 'ben'].flatMap((user) => Array.from({ length: 200 }, (_, i) => keyOf(app, user, `${i}`))),
  )
  expect(new Set(keys).size).toBe(800)
  expect(keys.every((key) => /^troupe-[0-9a-z]{1,11}$/.test(key))).toBe(true)
  expect(keyOf('a', 'ann', '1')).toBe(keyOf('a', 'ann', '1'))
  expect(keyOf('a', 'x'.repeat(5_000), 'x')).not.toBe(keyOf('a', 'x'.repeat(5_001), 'x'))
})

it('leaves what the caller of the run has set', () => {
  const session = { app: 'a', user: 'ann', threadId: 't' }
  expect(optionsOf(session, { model: { temperature: 0, cache: { key: 'mine' } } })).toEqual({
    model: { temperature: 0, cache: { key: 'mine' } },
  })
  expect(optionsOf(session, { maxIterations: 3 }, '1h')).toMatchObject({
    maxIterations: 3,
    model: { cache: { ttl: '1h' } },
  })
})
