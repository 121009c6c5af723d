import { isDeepStrictEqual } from 'node:util'
import type { AgentEvent, Interrupt, Json, JsonObject, ModelPart } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import type { Composition } from './composition.fixture.ts'
import { type Gaps, KilledConversation, type Request } from './killed-conversation.fixture.ts'
import { FLAKY } from './scripted-answers.fixture.ts'

/** Lists what is wrong with a conversation whose processes were killed, beside the same one left alone. */
export async function wrongWith(killed: KilledConversation, composition: Composition): Promise<string[]> {
  const gaps = gapsOf(killed)
  const alone = await new KilledConversation(composition, [], gaps).hold()
  const [thread, expected] = [await killed.thread(), await alone.thread()]
  const pairs: (readonly [string, unknown, unknown])[] = [
    ['history', await killed.world.messages(), await alone.world.messages()],
    ['state', thread?.state, expected?.state],
    ['open calls', thread?.openCalls, expected?.openCalls],
    ['questions', sorted(thread?.checkpoint?.interrupts), sorted(expected?.checkpoint?.interrupts)],
    ['unfinished', thread?.unfinished, undefined],
    ['runs', killed.requests.map(({ runId }) => runId), alone.requests.map(({ runId }) => runId)],
  ]
  return [
    ...doneAgain(killed),
    ...lostInVain(killed),
    ...otherWords(killed),
    ...pairs.flatMap(([what, found, wanted]) =>
      isDeepStrictEqual(found, wanted) ? [] : [`${what}: ${difference(found, wanted)}`],
    ),
    ...killed.requests.flatMap((request, i) =>
      wrongEvents(request, alone.requests[i]?.events ?? []).map((what) => `events of ${request.runId}: ${what}`),
    ),
  ]
}

/** Steps that were done again although they were stored, and calls that were made twice although they must not be. */
export function doneAgain(killed: KilledConversation): string[] {
  const wrong: string[] = []
  const storedAt = new Map(killed.recorded().map(({ name, writes }) => [name, writes]))
  const once = new Set<string>()
  for (const { step, once: isOnce, writes } of killed.begun) {
    if (writes >= (storedAt.get(step) ?? Number.POSITIVE_INFINITY)) wrong.push(`${step} was done again`)
    if (isOnce && once.has(step)) wrong.push(`${step} happened twice`)
    once.add(step)
  }
  return wrong
}

/** Calls whose outcome is said to be unknown, although the process that says so has asked for them. */
function lostInVain(killed: KilledConversation): string[] {
  const recorded = killed.recorded()
  const processOf = new Map(recorded.map(({ name, process }) => [name, process]))
  const isInVain = ({ name, value, process }: (typeof recorded)[number]) =>
    isUnknownResult(value) && processOf.get(name.replace(/tool:(\d+):\d+$/, 'model:$1')) === process
  return recorded.filter(isInVain).map(({ name }) => `${name} was not lost`)
}

/** Answers that were taken back, although they are not the beginning of those that followed. */
function otherWords(killed: KilledConversation): string[] {
  return killed.recorded().flatMap(({ name, value }) => {
    const { parts = [] } = value as { readonly parts?: readonly ModelPart[] }
    const answers = parts.map(wordOf).join('').split(RESTART)
    const wrong = answers.some((answer) => ![...answers.slice(-2), FLAKY].some((whole) => whole.startsWith(answer)))
    return wrong ? [`${name} has other words: ${answers.join(RESTART)}`] : []
  })
}

const RESTART = ' | '

function wordOf(part: ModelPart): string {
  if (part.type === 'restart') return RESTART
  return 'delta' in part ? part.delta : ''
}

function isUnknownResult(value: Json): boolean {
  return (value as { readonly result?: { readonly content?: Json } } | null)?.result?.content === UNKNOWN_RESULT
}

/** Reads from the journals what is unknown. */
export function gapsOf(killed: KilledConversation): Gaps {
  const lost = new Set<string>()
  const brokenOff = new Map<string, readonly ModelPart[]>()
  for (const { name, value } of killed.recorded()) {
    const { parts } = value as { readonly parts?: readonly ModelPart[] }
    if (isUnknownResult(value)) lost.add(name)
    const cut = parts && cutOff(parts)
    if (cut?.length) brokenOff.set(name, cut)
  }
  return { lost, brokenOff }
}

/** The parts of an answer that broke off, without what the model takes back itself when it is flaky. */
function cutOff(parts: readonly ModelPart[]): readonly ModelPart[] {
  const restarts = parts.flatMap(({ type }, i) => (type === 'restart' ? [i] : []))
  const last = restarts.at(-1) ?? -1
  const own = (restarts.at(-2) ?? -1) + 1
  const first = parts[own]
  const isFlaky = last > 0 && first?.type === 'text-delta' && first.delta === FLAKY
  return parts.slice(0, isFlaky ? own : last + 1)
}

/** Compares what readers have seen. Contract: branches and calls beside each other may come in any order. */
function wrongEvents({ runId, events: found, state }: Request, wanted: readonly AgentEvent[]): string[] {
  const ended = found.some((event) => event.type === 'run-end' && event.runId === runId)
  const unknown = new Set(wanted.flatMap((event) => (isUnknown(event) ? [groupOf(event)] : [])))
  const [own, others] = [groupsOf(found, unknown), groupsOf(wanted, unknown)]
  const wrong: string[] = []
  for (const key of new Set([...own.keys(), ...others.keys()])) {
    const [seen, full] = [own.get(key) ?? [], others.get(key) ?? []]
    // If the process died after the last commit, the rest is in the thread alone.
    const due = ended ? full : full.slice(0, seen.length)
    if (!isDeepStrictEqual(seen, due)) wrong.push(`${key}: ${difference(seen, due)}`)
  }
  const [known, due] = [stateAfter(found, state), stateAfter(wanted, state)]
  if (ended && !isDeepStrictEqual(known, due)) wrong.push(`state shown: ${difference(known, due)}`)
  return wrong
}

function isUnknown(event: AgentEvent): boolean {
  return event.type === 'tool-end' && event.content === UNKNOWN_RESULT
}

/** The events of each agent and of each call, with their deltas joined. Contract: what a call of unknown outcome has streamed does not count. */
function groupsOf(events: readonly AgentEvent[], unknown: ReadonlySet<string>): Map<string, AgentEvent[]> {
  const groups = new Map<string, AgentEvent[]>()
  for (const given of events) {
    if (given.type === 'state-delta') continue
    if (given.type === 'tool-delta' && unknown.has(groupOf(given))) continue
    const event = withSortedQuestions(given)
    const key = groupOf(event)
    const group = groups.get(key) ?? []
    groups.set(key, group)
    const joined = join(group.at(-1), event)
    if (joined) group[group.length - 1] = joined
    else group.push(event)
  }
  return groups
}

function groupOf(event: AgentEvent): string {
  const { runId, agentName, runPath } = event
  if (event.type === 'tool-start' || event.type === 'tool-delta' || event.type === 'tool-end') {
    return `call ${runId} ${event.callId}`
  }
  if (event.type === 'custom' && event.name === 'shout') return `shout ${runId} ${event.data}`
  return `agent ${runId} ${[...runPath, agentName].join('/')}`
}

function join(last: AgentEvent | undefined, event: AgentEvent): AgentEvent | undefined {
  if (!last || last.type !== event.type || !('delta' in event) || typeof event.delta !== 'string') return undefined
  const { delta, ...rest } = last as typeof event
  const { delta: more, ...other } = event
  return isDeepStrictEqual(rest, other) ? ({ ...rest, delta: `${delta}${more}` } as AgentEvent) : undefined
}

/** Runs that ask at the same time ask in any order. */
function withSortedQuestions(event: AgentEvent): AgentEvent {
  if (event.type === 'run-end') {
    const { interrupts, openCallIds } = event
    return {
      ...event,
      ...(interrupts && { interrupts: sorted(interrupts) }),
      ...(openCallIds && { openCallIds: openCallIds.toSorted() }),
    }
  }
  if (event.type !== 'action' || event.action.type !== 'interrupt') return event
  return { ...event, action: { type: 'interrupt', interrupts: sorted(event.action.interrupts) } }
}

function sorted(questions: readonly Interrupt[] = []): readonly Interrupt[] {
  return questions.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** The state as a reader knows it. */
function stateAfter(events: readonly AgentEvent[], before: JsonObject): JsonObject {
  const state: Record<string, Json> = { ...before }
  for (const event of events) {
    if (event.type !== 'state-delta') continue
    Object.assign(state, event.set)
    for (const key of event.removed) delete state[key]
  }
  return state
}

/** The first place at which two values differ. */
function difference(found: unknown, wanted: unknown, path = ''): string {
  if (Array.isArray(found) && Array.isArray(wanted)) {
    const at = Array.from({ length: Math.max(found.length, wanted.length) }).findIndex(
      (_, i) => !isDeepStrictEqual(found[i], wanted[i]),
    )
    return difference(found[at], wanted[at], `${path}[${at}]`)
  }
  return `at ${path || 'root'} ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`
}
