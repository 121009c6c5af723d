import { runner } from '@troupe/flow'
import type { Answers, Interrupt, Json, RunResult, Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type AgentSpec,
  type Ask,
  type Deploy,
  EXPIRES,
  HOOKS,
  Ledger,
  type Program,
  programAgent,
} from './asking-program.fixture.ts'

/** `RUNS=20000 SEED=17` searches elsewhere; without them the same programs are checked each time. */
const { RUNS = '400', SEED = '1' } = process.env
const TIMEOUT = 3_600_000

const ask: fc.Arbitrary<Ask> = fc.record({
  text: fc.nat(1),
  key: fc.constantFrom(undefined, undefined, 'a', 'b'),
  times: fc.constantFrom(1, 1, 1, 2),
})
const handler = fc.record({ hook: fc.constantFrom(...HOOKS), ask })
const agent = (tools: readonly string[]): fc.Arbitrary<AgentSpec> =>
  fc.record({
    turns: fc.array(fc.array(fc.constantFrom(...tools), { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
    handlers: fc.array(handler, { maxLength: 3 }),
    tools: fc.tuple(
      fc.record({ approval: fc.boolean(), ...askFields() }),
      fc.record({ approval: fc.boolean(), ...askFields() }),
    ),
  })
function askFields() {
  return { text: fc.nat(1), key: fc.constantFrom(undefined, 'a'), times: fc.constantFrom(0, 1, 1, 2) }
}
const program: fc.Arbitrary<Program> = fc.record({
  shape: fc.constantFrom('one', 'one', 'sequence', 'parallel'),
  agents: fc.tuple(agent(['tool0', 'tool1', 'tool2']), agent(['tool0', 'tool1'])),
  inner: agent(['tool0']),
})
const deploy: fc.Arbitrary<Deploy> = fc.record({
  order: fc.shuffledSubarray([0, 1, 2], { minLength: 3 }),
  removed: fc.constantFrom([], [], [], [0], [1]),
  silent: fc.constantFrom([], [], [], [0], [1], [0, 2]),
  added: fc.constantFrom(false, false, true),
  silentTools: fc.constantFrom(false, false, false, true),
})

const SESSION = { app: 'app', user: 'ann', threadId: 't' }

/** Holds a conversation: asks, and answers some of the open questions each time, in a process with other code. */
async function converse(made: Program, deploys: readonly Deploy[], picks: readonly number[]): Promise<Ledger> {
  const ledger = new Ledger()
  const store = storeOfText()
  const code = (n: number) =>
    runner({ agent: programAgent(made, deploys[n % deploys.length] as Deploy, ledger), store })
  let result = await ended(code(0).query('go', { session: SESSION, runId: 'R0' }))
  for (let n = 1; result.outcome === 'interrupted'; n++) {
    if (n > 300) {
      ledger.violations.push('the program asks for ever')
      break
    }
    const { interrupts = [] } = result
    ledger.shown(interrupts.flatMap((interrupt) => siteOf(interrupt) ?? []))
    const chosen = interrupts.filter((_, i) => i === 0 || (picks[(n + i) % picks.length] ?? 0) % 2 === 0)
    for (const interrupt of chosen) {
      const site = siteOf(interrupt)
      if (site !== undefined) ledger.accept(site)
    }
    const answers: Answers = Object.fromEntries(chosen.map((interrupt) => [interrupt.id, answerTo(interrupt)]))
    result = await ended(code(n).resume(answers, { session: SESSION, runId: `R${n}` }))
  }
  if (result.outcome !== 'complete') ledger.violations.push(`it ended as ${result.outcome}: ${result.error?.message}`)
  const thread = await store.threads.get(SESSION)
  if (thread?.checkpoint ?? thread?.unfinished) ledger.violations.push('the thread is not free')
  return ledger
}

/** A store that keeps nothing but text, as a database does: another process gets no object of this one. */
function storeOfText(): Store {
  const store = memoryStore()
  const { threads, journal } = store
  const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value))
  return {
    ...store,
    threads: {
      ...threads,
      get: async (ref) => {
        const thread = await threads.get(ref)
        return thread && copy(thread)
      },
      commit: async (ref, commit, token) => copy(await threads.commit(ref, copy(commit), token)),
      messages: async (ref, page) => copy(await threads.messages(ref, page)),
    },
    journal: { ...journal, append: (ref, runId, entries, token) => journal.append(ref, runId, copy(entries), token) },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

function siteOf({ expiresAt }: Interrupt): number | undefined {
  return expiresAt === undefined ? undefined : expiresAt - EXPIRES
}

function answerTo(interrupt: Interrupt): Json {
  const site = siteOf(interrupt)
  return site === undefined ? { approved: true } : { site }
}

function ended(run: PromiseLike<RunResult>): Promise<RunResult> {
  return Promise.resolve(
    run.then(
      (result) => result,
      (error) => ({ outcome: 'failed', error }) as never,
    ),
  )
}

test(
  'no answer reaches another question, none is asked for again, no model call is paid twice, whatever changes between question and answer',
  async () => {
    const deploys = fc.array(deploy, { minLength: 1, maxLength: 5 })
    const picks = fc.array(fc.nat(5), { minLength: 1, maxLength: 7 })
    await fc.assert(
      fc.asyncProperty(program, deploys, picks, async (made, changes, chosen) => {
        expect((await converse(made, changes, chosen)).violations).toEqual([])
      }),
      { numRuns: Number(RUNS), seed: Number(SEED), endOnFailure: process.env.SHRINK === undefined },
    )
  },
  TIMEOUT,
)
