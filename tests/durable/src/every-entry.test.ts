import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { remoteRunner } from '@troupe/durable'
import { runner } from '@troupe/flow'
import type { AgentEvent } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { memoryStore } from '@troupe/kernel/memory-store'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentsOf, type Plan } from './agents.ts'
import { faultsOf, repeated } from './check-run.ts'
import { Effects } from './effects.ts'
import { type GiveUp, MemoryEngine } from './memory-engine.ts'
import { talk } from './talk.ts'

let home: string
let count = 0
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'troupe-every-'))
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

const SHAPES: { readonly [shape: string]: { readonly agent: string; readonly plan: Plan } } = {
  'one agent with calls beside each other': { agent: 'assistant', plan: { turns: 2, calls: ['send', 'look'] } },
  'an agent as a tool': { agent: 'desk', plan: { turns: 1, calls: ['helper', 'look'] } },
  'four branches': { agent: 'team', plan: { turns: 2, calls: ['send'] } },
}

/** Runs a plan on an engine that gives attempts up, and checks it. */
async function carryOut(
  { agent: name, plan }: { readonly agent: string; readonly plan: Plan },
  giveUps: readonly GiveUp[],
  handOverAt?: number,
) {
  const effects = new Effects(join(home, String(count++)))
  const agent = agentsOf(effects)[name]
  if (!agent) throw new Error(`no agent ${name}`)
  const store = memoryStore()
  const engine = new MemoryEngine(store, (host) => runner({ agent, ...host }), giveUps, handOverAt)
  const parts = { agent, name, store, engine, clock: systemClock, shared: [], submitMs: 1_000 }
  const run = talk(remoteRunner(parts), plan)
  const end = (await run.ended) as AgentEvent
  const faults = await faultsOf(store, run.ref, run.runId, run.events)
  // What the model is told of calls whose outcome is unknown.
  const told = run.events.filter((event) => JSON.stringify(event).includes('outcome of this call'))
  return { engine, end, faults, repeated: repeated(effects), effects, told }
}

describe.each(Object.entries(SHAPES))('%s', (_, shape) => {
  it('is complete, whatever entry its attempts end at', async () => {
    const { engine, end } = await carryOut(shape, [])
    expect(end).toMatchObject({ type: 'run-end', outcome: 'complete' })
    const total = engine.entries.length
    const all = Array.from({ length: total }, (_, entry) => entry)
    for (const giveUp of [
      ...all.map((entry): GiveUp => ({ when: 'before', entry })),
      ...all.map((entry): GiveUp => ({ when: 'after', entry: entry + 1 })),
    ]) {
      const result = await carryOut(shape, [giveUp])
      expect([giveUp, result.end]).toMatchObject([giveUp, { type: 'run-end', outcome: 'complete' }])
      // Steps that end together share an entry, so a run may have fewer this time.
      const { length } = result.engine.entries
      const attempts = giveUp.entry < length || (giveUp.when === 'after' && giveUp.entry === length) ? 2 : 1
      expect([giveUp, result.faults, result.repeated, result.engine.attempts]).toEqual([giveUp, [], [], attempts])
    }
  })

  it('does no step twice, whenever its worker hands it over', async () => {
    const { engine } = await carryOut(shape, [])
    for (let entry = 0; entry <= engine.entries.length; entry++) {
      const result = await carryOut(shape, [], entry)
      expect([entry, result.end]).toMatchObject([entry, { type: 'run-end', outcome: 'complete' }])
      const counts = ['model', 'send', 'look'].flatMap((name) => [...result.effects.begun(name).values()])
      expect([entry, result.faults, counts.filter((times) => times > 1)]).toEqual([entry, [], []])
      expect([entry, result.told]).toEqual([entry, []])
    }
  })

  it('is complete, even if each attempt gets one entry further', async () => {
    const { engine } = await carryOut(shape, [])
    const giveUps = engine.entries.map((_, entry): GiveUp => ({ when: 'after', entry: entry + 1 }))
    const result = await carryOut(shape, giveUps)
    expect(result.end).toMatchObject({ type: 'run-end', outcome: 'complete' })
    expect([result.faults, result.repeated]).toEqual([[], []])
  })
})
