import type { CounterStore, FactStore, Store, ThreadRef } from '@troupe/kernel'
import { shown } from '../fault.ts'
import { call, collect, finish, said, start, TTL, textAt, used } from './store-samples.ts'

/** A text that is one byte longer than an id may be. */
export const TOO_LONG: string = 'x'.repeat(1001)

/** Values that are not ids; the last ones are too long in UTF-8, or as JSON because of their NULs. */
export const NOT_IDS: readonly unknown[] = [undefined, null, 7, {}, '', TOO_LONG, 'é'.repeat(501), '\0'.repeat(200)]

/** Values that are not JSON at all. */
const NOT_JSON: readonly unknown[] = [() => 1, Symbol('s'), 1n, Number.NaN, Number.POSITIVE_INFINITY]

const NOT_LISTS: readonly unknown[] = [undefined, null, 'text', 7, {}, new Set()]

const signal: AbortSignal = new AbortController().signal

/** Every method that takes a ref, called with anything as its ref. */
export const WITH_REF: { readonly [method: string]: (store: Store, ref: ThreadRef) => Promise<unknown> } = {
  'threads.get': ({ threads }, ref) => threads.get(ref),
  'threads.open': ({ threads }, ref) => threads.open(ref),
  'threads.commit': ({ threads }, ref) => threads.commit(ref, {}, 1),
  'threads.messages': ({ threads }, ref) => threads.messages(ref),
  'threads.known': async ({ threads }, ref) => threads.known?.(ref, []),
  'threads.processed': ({ threads }, ref) => threads.processed(ref, []),
  'threads.label': async ({ threads }, ref) => threads.label?.(ref, { title: 'Trip' }),
  'threads.fork': ({ threads }, ref) => threads.fork(ref, { at: 'm1', to: 'free' }),
  'threads.cut': ({ threads }, ref) => threads.cut(ref, { at: 'm1', to: 'free' }, 1),
  'threads.delete': ({ threads }, ref) => threads.delete(ref),
  'records.apply': ({ records }, ref) => records.apply(ref, [start('run-9')]),
  'records.runs': ({ records }, ref) => records.runs(ref),
  'records.toolCalls': ({ records }, ref) => records.toolCalls(ref, 'run-1'),
  'records.modelCalls': ({ records }, ref) => records.modelCalls(ref, 'run-1'),
  'records.usage': ({ records }, ref) => records.usage(ref),
  'runLog.append': ({ runLog }, ref) => runLog.append(ref, 'run-1', 0, []),
  'runLog.follow': ({ runLog }, ref) => collect(runLog.follow(ref, 'run-1', { live: false, signal })),
  'runLog.compact': ({ runLog }, ref) => runLog.compact(ref, 'run-1', []),
  'journal.append': ({ journal }, ref) => journal.append(ref, 'run-1', ['b'], 1),
  'journal.read': ({ journal }, ref) => journal.read(ref),
  'leases.acquire': ({ leases }, ref) => leases.acquire(ref, { runId: 'run-9', ttlMs: TTL }),
  'leases.renew': ({ leases }, ref) => leases.renew(ref, 1, TTL),
  'leases.release': ({ leases }, ref) => leases.release(ref, 1),
  'leases.requestCancel': ({ leases }, ref) => leases.requestCancel(ref, {}),
}

/** Commits that the types do not allow. */
export const MALFORMED_COMMITS: readonly unknown[] = [
  ...[undefined, null, 'text', 7, []],
  ...[null, 'text', 7, [1], new Map()].map((set) => ({ set })),
  ...[null, 'key', {}, [7], [null]].map((removed) => ({ removed })),
  ...[null, 'text', {}, [null], [{ runId: 'run-1' }]].map((messages) => ({ messages })),
  ...[null, 'text', 7, () => 1].map((message) => ({ messages: [{ runId: 'run-1', message }] })),
  ...NOT_IDS.map((id) => ({ messages: [said(id as string, 'text')] })),
  ...NOT_IDS.map((runId) => ({ messages: [{ ...said('m9'), runId }] })),
  ...[null, 'text', 7, [], { set: null }, { set: { a: 1n } }, { removed: 'a' }, { removed: [7] }].map((changes) => ({
    messages: [{ ...said('m9'), changes }],
  })),
  ...[null, 'text', {}, [null], [{ callId: 'c', name: 'n' }]].map((openCalls) => ({ openCalls })),
  ...[undefined, null, 7, ''].map((callId) => ({ openCalls: [{ callId, name: 'weather', agentName: 'agent' }] })),
  ...NOT_JSON.map((checkpoint) => ({ checkpoint })),
  ...[null, false, 1, 'true'].map((release) => ({ release })),
  ...[null, 'p', {}, ...NOT_IDS.map((id) => ['p9', id])].map((processed) => ({ processed })),
  ...['run-1', 7, true, [], () => 1].map((journal) => ({ journal })),
  ...NOT_IDS.map((runId) => ({ journal: { runId, entries: [] } })),
  ...NOT_LISTS.map((entries) => ({ journal: { runId: 'run-1', entries } })),
  ...[undefined, ...NOT_JSON].map((entry) => ({ journal: { runId: 'run-1', entries: ['a', entry] } })),
]

/** Record commands that the types do not allow. */
export const MALFORMED_COMMANDS: readonly unknown[] = [
  ...[undefined, null, 'run-start', {}, { type: 'run-start' }, { type: 'tool-call' }],
  ...['unknown', 'constructor', '__proto__', 7].map((type) => ({ type, runId: 'run-1' })),
  ...NOT_IDS.map((runId) => start('run-3', { runId: runId as string })),
  ...NOT_IDS.slice(1).map((parentRunId) => start('run-3', { parentRunId: parentRunId as string })),
  ...[undefined, null, 7].map((agentName) => start('run-3', { agentName: agentName as never })),
  ...[undefined, null, '1', ...NOT_JSON].map((startedAt) => start('run-3', { startedAt: startedAt as never })),
  ...NOT_IDS.map((runId) => ({ ...textAt(0, 'x'), runId })),
  ...[undefined, '0', -1, 0.5, Number.NaN].map((offset) => ({ ...textAt(0, 'x'), offset })),
  ...[undefined, null, 7].map((text) => ({ ...textAt(0, 'x'), text })),
  ...NOT_IDS.map((runId) => ({ ...finish('run-1'), runId })),
  ...[undefined, 'generating', 'done'].map((status) => ({ ...finish('run-1'), status })),
  ...[undefined, null, '2', Number.NaN].map((endedAt) => ({ ...finish('run-1'), endedAt })),
  ...[null, '', 7, {}, { inputTokens: 1 }, { inputTokens: 1, outputTokens: -1 }].map((usage) => ({
    ...finish('run-1'),
    usage,
  })),
  ...[null, '', 'MODEL_FAILED', {}, { code: 'X' }, { code: 'X', message: 7 }].map((error) => ({
    ...finish('run-1', 'failed'),
    error,
  })),
  ...NOT_IDS.map((callId) => call(callId as string, 'running')),
  ...NOT_IDS.map((runId) => call('call-9', 'running', { runId: runId as string })),
  ...[undefined, 'done', 'generating'].map((status) => call('call-9', status as never)),
  ...(['messageId', 'name', 'arguments'] as const).flatMap((field) =>
    [undefined, null, 7].map((value) => call('call-9', 'running', { [field]: value })),
  ),
  ...[undefined, null, '1', Number.NaN].map((startedAt) =>
    call('call-9', 'running', { startedAt: startedAt as number }),
  ),
  ...[null, '2', Number.NaN].map((endedAt) => call('call-9', 'complete', { endedAt: endedAt as never })),
  ...[null, 'run-1', 7, {}, { runId: '', attempt: 1 }].map((by) => ({ ...start('run-9'), by: by as never })),
  ...[undefined, null, -1, '2', Number.NaN].map((attempt) => ({
    ...start('run-9'),
    by: { runId: 'run-9', attempt: attempt as never },
  })),
  ...[null, 0, -1, 1.5, '2', Number.NaN].map((attempts) => call('call-9', 'running', { attempts: attempts as never })),
  ...NOT_JSON.map((result) => call('call-9', 'complete', { result: result as never })),
  ...NOT_IDS.map((spanId) => used(spanId as string, {})),
  ...NOT_IDS.map((runId) => ({ ...used('s9'), runId })),
  ...[undefined, null, 7].map((model) => ({ ...used('s9'), model })),
  ...[undefined, null, 7, {}].map((usage) => ({ ...used('s9'), usage })),
  ...(['inputTokens', 'outputTokens', 'reasoningTokens', 'cachedInputTokens', 'cacheWriteTokens'] as const).flatMap(
    (field) => ['1', -1, 0.5, Number.NaN].map((count) => used('s9', { [field]: count })),
  ),
  ...['1', -1, Number.NaN, Infinity].map((cost) => used('s9', { cost: cost as number })),
  used('s9', { outputTokens: null as never }),
  ...(['finishReason', 'messageId', 'requestId'] as const).flatMap((field) =>
    [null, 7].map((value) => ({ ...used('s9'), [field]: value })),
  ),
]

/** Calls that read, log, journal or lease with arguments that the types do not allow; each names its method. */
export function malformedCalls(
  store: Store,
  ref: ThreadRef,
  token: number,
): readonly (readonly [string, () => Promise<unknown>])[] {
  const { threads, records, runLog, journal, leases, grants, counters, facts } = store
  const wrong = <Arg>(name: string, values: readonly unknown[], method: (value: Arg) => Promise<unknown>) =>
    values.map((value) => [`${name}(${shown(value, 80)})`, () => method(value as Arg)] as const)
  const pages = [null, 'text', 7, ...NOT_LIMITS.map((limit) => ({ limit })), ...NOT_NUMBERS.map((after) => ({ after }))]
  const queries = [undefined, null, 'text', {}, { before: 1 }, { limit: 1 }]
  const forks = [
    ...[undefined, null, 'm1', [], { to: 'b' }, { at: 'm1' }, { at: 'm1', before: 'm1', to: 'b' }],
    ...NOT_IDS.flatMap((id) => [
      { at: id, to: 'b' },
      { before: id, to: 'b' },
      { at: 'm1', to: id },
    ]),
  ]
  const holders = [undefined, null, 'run-9', ...NOT_IDS.map((runId) => ({ runId, ttlMs: TTL }))]
  const follow = (options: unknown) => collect(runLog.follow(ref, 'run-1', options as { signal: AbortSignal }))
  const cursors = [null, ...NOT_NUMBERS].map((after) => ({ after, live: false, signal }))
  const signals = [undefined, null, {}, 'text'].map((signal) => ({ live: false, signal }))
  return [
    ...wrong('threads.messages', pages, (page: object) => threads.messages(ref, page)),
    ...wrong('threads.list', pages, (page: object) => threads.list(ref, page)),
    ...wrong('records.runs', pages, (page: object) => records.runs(ref, page)),
    ...wrong('threads.list', NOT_OWNERS, (owner: ThreadRef) => threads.list(owner)),
    ...wrong('threads.recent', [...NOT_OWNERS], async (owner: ThreadRef) => threads.recent?.(owner)),
    ...wrong(
      'threads.recent',
      [null, 7, { limit: 0 }, { after: null }, { after: 1 }, { after: { seq: 1 } }, { after: { updatedAt: 1 } }],
      async (page: object) => threads.recent?.(ref, page),
    ),
    ...wrong(
      'threads.label',
      [
        ...[undefined, null, 'Trip', 7, []],
        ...['', 7, {}, 'x'.repeat(501)].map((title) => ({ title })),
        ...['text', 7, [], new Map(), { a: 1n }, { a: () => 1 }, { a: 'x'.repeat(17_000) }].map((metadata) => ({
          metadata,
        })),
      ],
      async (label: object) => threads.label?.(ref, label),
    ),
    ...wrong('threads.processed', [undefined, null, 'p', 7, {}], (ids: string[]) => threads.processed(ref, ids)),
    ...wrong('threads.fork', forks, (request: never) => threads.fork(ref, request)),
    ...wrong('threads.cut', forks, (request: never) => threads.cut(ref, request, token)),
    ...wrong('threads.idle', queries, (query: never) => threads.idle(query)),
    ...wrong('threads.idle', [null, 1, {}, { ref }, { updatedAt: 1 }, { ref: 1, updatedAt: 1 }], (after: never) =>
      threads.idle({ before: 1, limit: 1, after }),
    ),
    ...wrong('records.prune', queries, async (query: never) => records.prune?.(query)),
    ...wrong('records.open', queries, (query: never) => records.open(query)),
    ...wrong('records.apply', [undefined, null, 'text', {}, new Set()], (all: never) => records.apply(ref, all)),
    ...wrong('records.toolCalls', NOT_IDS, (runId: string) => records.toolCalls(ref, runId)),
    ...wrong('records.modelCalls', NOT_IDS, (runId: string) => records.modelCalls(ref, runId)),
    ...wrong('runLog.append', NOT_IDS, (runId: string) => runLog.append(ref, runId, 0, [])),
    ...wrong('runLog.append', [null, ...NOT_NUMBERS], (after: number) => runLog.append(ref, 'run-1', after, [])),
    ...wrong('runLog.append', NOT_LISTS, (events: never) => runLog.append(ref, 'run-1', 1, events)),
    ...wrong('runLog.append', [undefined, ...NOT_JSON], (event: never) => runLog.append(ref, 'run-1', 1, ['b', event])),
    ...wrong('runLog.follow', NOT_IDS, (runId: string) => collect(runLog.follow(ref, runId, { live: false, signal }))),
    ...wrong('runLog.follow', [undefined, null, 'text', ...cursors, ...signals], follow),
    ...wrong('runLog.compact', NOT_IDS, (runId: string) => runLog.compact(ref, runId, [])),
    ...wrong('runLog.compact', [...NOT_LISTS, [null], ['a']], (entries: never) =>
      runLog.compact(ref, 'run-1', entries),
    ),
    ...wrong('runLog.compact', [null, 0, -1, 1.5, ...NOT_NUMBERS], (seq: number) =>
      runLog.compact(ref, 'run-1', [{ seq, event: 'a' }]),
    ),
    ...wrong('runLog.compact', [undefined, ...NOT_JSON], (event: never) =>
      runLog.compact(ref, 'run-1', [{ seq: 1, event }]),
    ),
    ...wrong(
      'runLog.compact',
      [
        [2, 2],
        [2, 1],
      ],
      (seqs: number[]) =>
        runLog.compact(
          ref,
          'run-1',
          seqs.map((seq) => ({ seq, event: 'a' })),
        ),
    ),
    ...wrong(
      'runLog.prune',
      [...queries, ...[null, 'app', [7]].map((apps) => ({ before: 1, limit: 1, apps }))],
      (query: never) => runLog.prune(query),
    ),
    ...wrong('journal.append', NOT_IDS, (runId: string) => journal.append(ref, runId, [], token)),
    ...wrong('journal.append', NOT_LISTS, (entries: never) => journal.append(ref, 'run-1', entries, token)),
    ...wrong('journal.append', [undefined, ...NOT_JSON], (entry: never) =>
      journal.append(ref, 'run-1', ['b', entry], token),
    ),
    ...wrong('journal.lost', queries, (query: never) => journal.lost(query)),
    ...wrong('leases.acquire', holders, (holder: never) => leases.acquire({ ...ref, threadId: 'free' }, holder)),
    ...wrong('leases.acquire', NOT_TTLS, (ttlMs: number) => leases.acquire(ref, { runId: 'run-9', ttlMs })),
    ...wrong('leases.renew', NOT_TTLS, (ttlMs: number) => leases.renew(ref, 1, ttlMs)),
    ...wrong('grants.list', [null, 'text', 7, ...NOT_OPTIONAL_IDS.map((threadId) => ({ threadId }))], (where: object) =>
      grants.list(ref, where),
    ),
    ...wrong('grants.add', NOT_GRANTS, (grant: never) => grants.add(ref, grant)),
    ...wrong('grants.revoke', NOT_IDS, (id: string) => grants.revoke(ref, id)),
    ...wrong('grants.list', NOT_OWNERS, (owner: ThreadRef) => grants.list(owner)),
    ...wrong('grants.add', NOT_OWNERS, (owner: ThreadRef) => grants.add(owner, { agent: '', tool: 'save', at: 1 })),
    ...wrong('grants.revoke', NOT_OWNERS, (owner: ThreadRef) => grants.revoke(owner, '1')),
    ...(counters ? malformedCounts(counters, ref, wrong) : []),
    ...(facts ? malformedFacts(facts, ref, wrong) : []),
    ...wrong(
      'leases.requestCancel',
      [undefined, null, 'now', { mode: 'later' }, { mode: null }, { runId: null }, { runId: 7 }],
      (request: object) => leases.requestCancel(ref, request),
    ),
  ]
}

type Wrong = <Arg>(
  name: string,
  values: readonly unknown[],
  method: (value: Arg) => Promise<unknown>,
) => readonly (readonly [string, () => Promise<unknown>])[]

function malformedCounts(counters: CounterStore, ref: ThreadRef, wrong: Wrong) {
  const count = { name: 'a', by: 1, expiresAt: 1 }
  const counts = [
    ...[undefined, null, 'a', 7],
    ...NOT_IDS.map((name) => ({ ...count, name })),
    ...[undefined, null, ...NOT_NUMBERS].flatMap((value) => [
      { ...count, by: value },
      { ...count, expiresAt: value },
    ]),
  ]
  return [
    ...wrong('counters.add', NOT_LISTS, (all: never) => counters.add(ref, all)),
    ...wrong('counters.add', counts, (one: never) => counters.add(ref, [count, one])),
    ...wrong('counters.add', [[count, count], Array(101).fill(count)], (all: never) => counters.add(ref, all)),
    ...wrong('counters.add', NOT_OWNERS, (owner: ThreadRef) => counters.add(owner, [count])),
    ...wrong('counters.prune', [undefined, null, 'text', {}, { before: 1 }, { limit: 1 }], (query: never) =>
      counters.prune(query),
    ),
  ]
}

function malformedFacts(facts: FactStore, ref: ThreadRef, wrong: Wrong) {
  const fact = { text: 'a', at: 1 }
  const limits = NOT_LIMITS.map((limit) => ({ limit }))
  const embeddings = [null, 'text', [], ['1'], [Number.NaN], [null], Array(10_000).fill(1)]
  const texts = [undefined, ...NOT_TEXTS]
  return [
    ...wrong(
      'facts.add',
      [
        ...[undefined, null, 'text', 7, []],
        ...[...texts, '', ' ', 'x'.repeat(10_001)].map((text) => ({ ...fact, text })),
        ...[undefined, null, ...NOT_NUMBERS].map((at) => ({ ...fact, at })),
        ...embeddings.map((embedding) => ({ ...fact, embedding })),
      ],
      (given: never) => facts.add(ref, given),
    ),
    ...wrong('facts.list', [null, 'text', 7, ...limits], (page: never) => facts.list(ref, page)),
    ...wrong(
      'facts.search',
      [
        undefined,
        null,
        'text',
        ...texts.map((text) => ({ text, limit: 1 })),
        ...limits.map((limit) => ({ text: 'a', ...limit })),
      ],
      (query: never) => facts.search(ref, query),
    ),
    ...wrong(
      'facts.near',
      [
        ...[undefined, null, 'text'],
        ...[undefined, ...embeddings].map((embedding) => ({ embedding, limit: 1 })),
        ...limits.map((limit) => ({ embedding: [1], ...limit })),
      ],
      (query: never) => facts.near(ref, query),
    ),
    ...wrong('facts.forget', [undefined, null, 'text', 7, [null], ['1'], [Number.NaN]], (seqs: never) =>
      facts.forget(ref, seqs),
    ),
    ...wrong('facts.add', NOT_OWNERS, (owner: ThreadRef) => facts.add(owner, fact)),
    ...wrong('facts.list', NOT_OWNERS, (owner: ThreadRef) => facts.list(owner)),
    ...wrong('facts.search', NOT_OWNERS, (owner: ThreadRef) => facts.search(owner, { text: 'a', limit: 1 })),
    ...wrong('facts.near', NOT_OWNERS, (owner: ThreadRef) => facts.near(owner, { embedding: [1], limit: 1 })),
    ...wrong('facts.forget', NOT_OWNERS, (owner: ThreadRef) => facts.forget(owner, 'all')),
  ]
}

const NOT_OWNERS: readonly unknown[] = [undefined, null, 'anna', { app: 'app' }]
const NOT_NUMBERS: readonly unknown[] = ['1', Number.NaN, Number.POSITIVE_INFINITY, 1n, {}]
const NOT_LIMITS: readonly unknown[] = [0, -1, 1.5, 1001, '5', null, Number.NaN]
const NOT_TTLS: readonly unknown[] = [undefined, null, 0, -1, '10', Number.NaN, Number.POSITIVE_INFINITY]
const NOT_OPTIONAL_IDS: readonly unknown[] = NOT_IDS.slice(1)
const NOT_TEXTS: readonly unknown[] = [null, 7, {}]
const NOT_GRANTS: readonly unknown[] = [
  ...[undefined, null, 'text', 7, []],
  ...[
    ...[undefined, ...NOT_TEXTS].flatMap((text) => [{ agent: text }, { tool: text }]),
    ...NOT_TEXTS.map((rule) => ({ rule })),
    ...NOT_OPTIONAL_IDS.map((threadId) => ({ threadId })),
    ...[undefined, null, ...NOT_NUMBERS].map((at) => ({ at })),
  ].map((wrong) => ({ agent: 'coder', tool: 'save', at: 1, ...wrong })),
]
