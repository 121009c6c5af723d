import { type Agent, say } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, it } from 'vitest'
import { restateRunner } from './restate-runner.ts'
import { restateWorker } from './restate-worker.ts'
import { serviceName } from './service-name.ts'

const agent: Agent = { name: 'guide', description: 'Guides.', run: (_, ctx) => say(ctx, 'Hi.') }
const store = memoryStore()
const runner = () => {
  throw new Error('not called')
}
const refused = (message: string) =>
  expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) })

describe('restateWorker', () => {
  const options = { store, agents: { guide: runner } }

  it.each([
    [{ agents: {} }, 'at least one agent'],
    [{ agents: { 'a guide': runner } }, 'the name of an agent'],
    [{ agents: { guide: agent } }, 'agents.guide must be a function'],
    [{ store: {} }, 'store must be a Store'],
    [{ stepMs: 0 }, 'stepMs'],
    [{ maxStepChars: -1 }, 'maxStepChars'],
    [{ retentionMs: 0 }, 'retentionMs'],
    [{ maxAttempts: Number.NaN }, 'maxAttempts'],
    [{ agent: runner }, 'agent'],
  ])('refuses %o', (wrong, message) => {
    expect(() => restateWorker({ ...options, ...wrong } as never)).toThrow(refused(message))
  })

  it('serves once, on a port of the system, until it is stopped', async () => {
    await using worker = restateWorker(options)
    const port = await worker.serve(0, '127.0.0.1')
    expect(port).toBeGreaterThan(0)
    expect(() => worker.serve(0)).toThrow(refused('serves already'))
    await worker.stop()
    expect(await worker.serve(0, '127.0.0.1')).toBeGreaterThan(0)
  })
})

describe('restateRunner', () => {
  const options = { agent, store, ingress: 'http://127.0.0.1:8080' }

  it.each([
    [{ ingress: 'restate:8080' }, 'ingress'],
    [{ ingress: undefined }, 'ingress'],
    [{ store: { threads: store.threads } }, 'store must be a Store'],
    [{ submitMs: 0 }, 'submitMs'],
    [{ agent: { ...agent, name: 'the guide' } }, 'the name of an agent'],
    [{ version: '1.0' }, 'the name of an agent'],
    [{ url: 'http://x' }, 'url'],
  ])('refuses %o', (wrong, message) => {
    expect(() => restateRunner({ ...options, ...wrong } as never)).toThrow(refused(message))
  })

  it('refuses a run without a thread', async () => {
    await expect(restateRunner(options).run('Hi.')).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it('lists no lost runs, because Restate goes on with all of them', async () => {
    expect(await restateRunner(options).lost?.()).toEqual([])
  })
})

describe('the name of an object', () => {
  it.each([
    ['assistant', 'assistant'],
    ['assistant@2', 'assistant.v2'],
    ['WeatherAgent@2026-11', 'WeatherAgent.v2026-11'],
  ])('of %s is %s', (name, service) => {
    expect(serviceName('test', name)).toBe(service)
  })

  it.each(['', '2', 'a b', 'a@', 'a@b@c', 'a.v2', 'a/b', 'é'])('cannot be made of %o', (name) => {
    expect(() => serviceName('test', name)).toThrow(refused('the name of an agent'))
  })
})
