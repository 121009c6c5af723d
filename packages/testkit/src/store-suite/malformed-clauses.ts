import type { RecordCommand, Store, ThreadCommit, ThreadRef } from '@troupe/kernel'
import { storeClosed } from '@troupe/kernel/store'
import { expect } from 'vitest'
import { demand, errorText, shown } from '../fault.ts'
import { MALFORMED_COMMANDS, MALFORMED_COMMITS, malformedCalls, NOT_IDS, WITH_REF } from './malformed-calls.ts'
import { advised, type StoreClauses } from './store-clauses.ts'
import {
  anna,
  begin,
  call,
  codeOf,
  collect,
  finish,
  hold,
  logged,
  said,
  start,
  TTL,
  textAt,
  used,
} from './store-samples.ts'

const RULES = 'The checks of @troupe/kernel/store do it: call them first in each method'

/** Input that the types do not allow, for callers that have none. */
export const malformedClauses: StoreClauses = {
  ...advised(`Check every argument before the first read or write. ${RULES}.`, {
    'a ref that is not three ids of 1 to 1000 bytes is VALIDATION_FAILED in every method': async ({ store, ref }) => {
      const names = ['app', 'user', 'threadId'].flatMap((name) => NOT_IDS.map((id) => ({ ...ref, [name]: id })))
      const refs = [undefined, null, 'thread-1', ...names] as ThreadRef[]
      await demandMalformed(
        Object.entries(WITH_REF).flatMap(([method, called]) =>
          refs.map((wrong): Call => [`${method}(${shown(wrong, 80)})`, () => called(store, wrong)]),
        ),
      )
      expect(await store.threads.list(ref)).toEqual([])
    },
    'ids of 1000 bytes are kept': async ({ store }) => {
      const [long, wide] = ['x'.repeat(1000), 'é'.repeat(500)]
      const ref = { app: long, user: wide, threadId: long }
      const token = await hold(store, ref, wide)
      await store.threads.commit(ref, { messages: [{ ...said(long), runId: wide }], processed: [long, wide] }, token)
      await store.records.apply(ref, [
        start(wide, { parentRunId: long }),
        call(long, 'running', { runId: wide }),
        used(long, {}, wide),
      ])
      await store.runLog.append(ref, wide, 0, ['a'])
      await begin(store, ref, token, ['a'], wide)
      await store.journal.append(ref, wide, ['b'], token)
      expect(await store.threads.get(ref)).toMatchObject({ ref, runId: wide, unfinished: wide })
      expect(await store.threads.processed(ref, [wide, long])).toEqual([wide, long])
      expect((await store.records.toolCalls(ref, wide)).map(({ callId }) => callId)).toEqual([long])
      expect((await store.records.modelCalls(ref, wide)).map(({ spanId }) => spanId)).toEqual([long])
      expect(await logged(store, ref, wide)).toEqual(['a'])
      expect(await store.journal.read(ref)).toEqual({ runId: wide, entries: ['a', 'b'] })
    },
    'a malformed commit is VALIDATION_FAILED and changes nothing': async ({ store, ref }) => {
      const token = await filled(store, ref)
      const before = await contentOf(store, ref)
      await demandMalformed(
        MALFORMED_COMMITS.map((wrong) => [
          `commit(${shown(wrong, 80)})`,
          () => store.threads.commit(ref, wrong as ThreadCommit, token),
        ]),
      )
      expect(await contentOf(store, ref)).toEqual(before)
    },
    'a batch with a malformed command is VALIDATION_FAILED and changes nothing': async ({ store, ref }) => {
      await filled(store, ref)
      const before = await contentOf(store, ref)
      const good = [start('run-2'), textAt(0, 'changed'), used('s1'), finish('run-1')]
      await demandMalformed(
        MALFORMED_COMMANDS.map((wrong) => [
          `apply(${shown(wrong, 160)})`,
          () => store.records.apply(ref, [...good, wrong as RecordCommand]),
        ]),
      )
      expect(await contentOf(store, ref)).toEqual(before)
    },
    'a malformed command is VALIDATION_FAILED where it would be refused, too': async ({ store, ref }) => {
      const wrong = { ...finish('run-1'), error: 'failed' } as unknown as RecordCommand
      expect(await codeOf(store.records.apply(ref, [wrong]))).toBe('VALIDATION_FAILED')
      await filled(store, ref)
      await store.records.apply(ref, [finish('run-1')])
      expect(await codeOf(store.records.apply(ref, [wrong]))).toBe('VALIDATION_FAILED')
    },
    'a malformed page, query, append, follow or lease is VALIDATION_FAILED and changes nothing': async ({
      store,
      ref,
    }) => {
      const token = await filled(store, ref)
      const before = await contentOf(store, ref)
      await demandMalformed(malformedCalls(store, ref, token))
      expect(await contentOf(store, ref)).toEqual(before)
    },
  }),
  ...advised('Compare tokens only with a lease that is there: `holdsLease` of @troupe/kernel/store does it.', {
    'a value that is not a token is LEASE_LOST, with a lease and without': async ({ store, ref }) => {
      await store.threads.open(ref)
      for (const held of [false, true]) {
        if (held) await store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL })
        for (const token of [undefined, null, Number.NaN, '1', 1.5, {}] as unknown as number[]) {
          expect(await codeOf(store.threads.commit(ref, { set: { a: 1 } }, token))).toBe('LEASE_LOST')
          expect(await codeOf(store.journal.append(ref, 'run-1', ['a'], token))).toBe('LEASE_LOST')
          expect(await codeOf(store.leases.renew(ref, token, TTL))).toBe('LEASE_LOST')
          await store.leases.release(ref, token)
        }
      }
      expect(await store.threads.get(ref)).toMatchObject({ version: 0, state: {}, runId: 'run-1' })
    },
  }),
  ...advised('Keep the fields of a record and no others: copy them by name instead of spreading the command.', {
    'a record has the fields of its type alone, whatever else a command has': async ({ store, ref }) => {
      await store.threads.open(ref)
      const end = { status: 'failed', text: 'x', usage: { inputTokens: 1, outputTokens: 1 }, endedAt: 7 } as const
      await store.records.apply(ref, [start('run-1', { ...end, seq: 99, error: { code: 'X', message: 'x' } })])
      const run = { runId: 'run-1', agentName: 'agent', startedAt: 1, seq: 1, text: '' }
      expect(await store.records.runs(ref)).toEqual([{ ...run, status: 'generating' }])
      const usage = { inputTokens: 1, outputTokens: 1 }
      const wide = { ...usage, reasoningTokens: null, more: 1 }
      const more = { seq: 99, text: 'x', agentName: 'other', usage: wide, more: true }
      await store.records.apply(ref, [
        wider(call('c', 'running'), { call: { ...rowOf(call('c', 'running')), more: true } }),
        wider(used('s'), { more: true, usage: wide }),
        wider(finish('run-1'), more),
      ])
      expect(await store.records.runs(ref)).toEqual([{ ...run, status: 'complete', usage, endedAt: 2 }])
      expect(await store.records.toolCalls(ref, 'run-1')).toEqual([rowOf(call('c', 'running'))])
      expect(await store.records.modelCalls(ref, 'run-1')).toEqual([
        { spanId: 's', runId: 'run-1', model: 'model', usage },
      ])
    },
    'a checkpoint is whatever JSON it was; only null clears it': async ({ store, ref }) => {
      const token = await hold(store, ref)
      for (const checkpoint of [0, '', false, 'text', [], {}]) {
        const commit = { checkpoint } as unknown as ThreadCommit
        expect((await store.threads.commit(ref, commit, token)).checkpoint).toEqual(checkpoint)
        expect((await store.threads.get(ref))?.checkpoint).toEqual(checkpoint)
      }
      expect(Object.keys(await store.threads.commit(ref, { checkpoint: null }, token))).not.toContain('checkpoint')
    },
  }),
  ...advised('Throw STORE_CLOSED in each method once the store is disposed: `storeClosed` of @troupe/kernel/store.', {
    'a store that was disposed is STORE_CLOSED in every method': async ({ store, ref }) => {
      await filled(store, ref)
      await store[Symbol.asyncDispose]()
      for (const [method, called] of Object.entries(WITH_REF)) {
        expect(await codeOf(called(store, ref)), method).toBe('STORE_CLOSED')
      }
      expect(await codeOf(store.threads.list(ref))).toBe('STORE_CLOSED')
      expect(await codeOf(store.threads.recent?.(ref) as Promise<unknown>)).toBe('STORE_CLOSED')
      expect(await codeOf(store.grants.list(ref))).toBe('STORE_CLOSED')
      expect(await codeOf(store.grants.add(ref, { agent: '', tool: 'save', at: 1 }))).toBe('STORE_CLOSED')
      expect(await codeOf(store.grants.revoke(ref, '1'))).toBe('STORE_CLOSED')
      expect(await codeOf(store.counters?.add(ref, []) ?? closed())).toBe('STORE_CLOSED')
      expect(await codeOf(store.counters?.prune({ before: 1, limit: 1 }) ?? closed())).toBe('STORE_CLOSED')
      expect(await codeOf(store.facts?.add(ref, { text: 'a', at: 1 }) ?? closed())).toBe('STORE_CLOSED')
      expect(await codeOf(store.facts?.list(ref) ?? closed())).toBe('STORE_CLOSED')
      expect(await codeOf(store.facts?.search(ref, { text: 'a', limit: 1 }) ?? closed())).toBe('STORE_CLOSED')
      expect(await codeOf(store.facts?.near(ref, { embedding: [1], limit: 1 }) ?? closed())).toBe('STORE_CLOSED')
      expect(await codeOf(store.facts?.forget(ref, 'all') ?? closed())).toBe('STORE_CLOSED')
      expect(await codeOf(store.threads.idle({ before: 1, limit: 1 }))).toBe('STORE_CLOSED')
      expect(await codeOf(store.records.open({ before: 1, limit: 1 }))).toBe('STORE_CLOSED')
      expect(await codeOf(store.journal.lost({ before: 1, limit: 1 }))).toBe('STORE_CLOSED')
      expect(await codeOf(store.records.prune?.({ before: 1, limit: 1 }) as Promise<unknown>)).toBe('STORE_CLOSED')
    },
    'a store may be disposed twice': async ({ store, ref }) => {
      await filled(store, ref)
      await Promise.all([store[Symbol.asyncDispose](), store[Symbol.asyncDispose]()])
      await store[Symbol.asyncDispose]()
    },
  }),
}

type Call = readonly [what: string, called: () => Promise<unknown>]

/** Demands that each call fails with an error that says who refuses it, what was expected and what was given. */
async function demandMalformed(calls: Iterable<Call>): Promise<void> {
  const wrong: string[] = []
  for (const [what, called] of calls) {
    const outcome = await outcomeOf(called)
    if (!/^VALIDATION_FAILED \(\S+: expected .+, got ./.test(outcome)) wrong.push(`${what} ${outcome}`)
  }
  const few = wrong.slice(0, SHOWN).join('; ')
  const expected = 'with VALIDATION_FAILED and a message "who: expected what, got value"'
  demand(wrong.length === 0, `The store did not refuse ${wrong.length} malformed calls ${expected}: ${few}`)
}

const SHOWN = 3

async function outcomeOf(called: () => Promise<unknown>): Promise<string> {
  try {
    return `gave ${shown(await called(), 80)}`
  } catch (error) {
    return errorText(error)
  }
}

/** Writes something of everything to a thread, and returns its lease token. */
async function filled(store: Store, ref: ThreadRef): Promise<number> {
  const token = await hold(store, ref)
  await store.threads.commit(ref, { set: { a: 1 }, messages: [said('m1')], processed: ['p'] }, token)
  await store.records.apply(ref, [start('run-1'), textAt(0, 'half'), call('call-1', 'awaiting'), used('s0')])
  await store.runLog.append(ref, 'run-1', 0, ['a'])
  await begin(store, ref, token, ['a'])
  await store.grants.add(ref, { agent: 'coder', tool: 'save', threadId: ref.threadId, at: 1 })
  return token
}

/** Everything that a store shows of an owner with one thread. */
async function contentOf({ threads, records, runLog, journal, grants }: Store, ref: ThreadRef): Promise<unknown> {
  const { signal } = new AbortController()
  return {
    threads: await threads.list(ref),
    free: await threads.get(anna('free')),
    messages: await threads.messages(ref),
    processed: await threads.processed(ref, ['p', 'p9']),
    runs: await records.runs(ref),
    calls: await records.toolCalls(ref, 'run-1'),
    modelCalls: await records.modelCalls(ref, 'run-1'),
    usage: await records.usage(ref),
    journal: await journal.read(ref),
    grants: await grants.list(ref),
    log: await collect(runLog.follow(ref, 'run-1', { live: false, signal })),
  }
}

/** What a store without the port would answer. */
async function closed(): Promise<never> {
  throw storeClosed('no port')
}

/** A command with more fields than its type has. */
function wider(command: RecordCommand, more: object): RecordCommand {
  return { ...command, ...more }
}

function rowOf(command: RecordCommand): object {
  return command.type === 'tool-call' ? command.call : {}
}
