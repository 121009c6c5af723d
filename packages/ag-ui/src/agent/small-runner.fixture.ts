import {
  type Agent,
  type AgentInput,
  type Answers,
  type Checkpoint,
  KernelError,
  type Message,
  type ResumeInfo,
  type Run,
  type RunContext,
  type RunInput,
  type Runner,
  type RunRequest,
  type Store,
  stream,
  type Thread,
  type ThreadCommit,
  type ThreadRef,
} from '@troupe/kernel'
import { messageOf, unanswered } from '@troupe/kernel/history'
import { readInput, startRun } from '@troupe/kernel/run'
import type { FakeClock } from '@troupe/testkit'

type RunIntent = RunInput & { readonly answers?: Answers }

/** Just enough of a Runner: one agent, one thread at a time, one commit per turn, open calls and questions. The real one is flow's. */
export function smallRunner(agent: Agent, store: Pick<Store, 'threads' | 'leases'>, clock: FakeClock): Runner {
  const start = (intent: RunIntent, { session, runId = 'run', ...request }: RunRequest): Run => {
    const ref = session as ThreadRef
    let token = 0
    let thread: Thread | undefined
    const settings = { ...request, runId, session: ref, clock, canInterrupt: true, report: () => {} }
    return startRun(agent, intent, settings, {
      async open() {
        token = (await store.leases.acquire(ref, { runId, ttlMs: 30_000 })).token
        const close = () => store.leases.release(ref, token)
        try {
          const found = await store.threads.get(ref)
          refuse(found, intent)
          thread = found ?? (await store.threads.open(ref))
          return { state: changed(thread, intent), close }
        } catch (error) {
          await close()
          throw error
        }
      },
      around: (ctx, run) =>
        stream(async (sink) => {
          const stored = await store.threads.messages(ref, { limit: 1_000 })
          const history = stored.map(({ message }) => message)
          const said: Message[] = [...intent.messages]
          let checkpoint: Checkpoint | undefined
          try {
            for await (const event of run.agent(beginning(intent, history, thread))) {
              const message = messageOf(event)
              if (message && event.runId === runId) said.push(message)
              if (event.type === 'action' && event.action.type === 'interrupt') {
                const { interrupts, state = null } = event.action
                checkpoint = { format: 1, runId, agentName: agent.name, interrupts, state }
              }
              await sink.write(event)
            }
          } finally {
            await store.threads.commit(ref, commitOf(ctx, intent, history, said, runId, checkpoint), token)
          }
        }),
    })
  }
  return {
    agent,
    run: (input, request = {}) => start(readInput<RunInput>(input, request.runId ?? 'run', 'run'), request),
    resume: (answers, { additions, options, ...request }) =>
      start({ messages: [], answers, ...(additions && { additions }), ...(options && { options }) }, request),
    cancel: (ref, request = {}) => store.leases.requestCancel(ref, request),
  }
}

function refuse(thread: Thread | undefined, { messages, answers }: RunIntent): void {
  const open = thread?.openCalls ?? []
  const results = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
  const waits = open.some(({ callId }) => !results.includes(callId)) || (thread?.checkpoint && !answers)
  if (waits && messages.some(({ role }) => role === 'user')) {
    throw new KernelError('PENDING_TOOL_CALLS', 'test: the thread waits')
  }
}

function changed({ state }: Thread, { state: change = {} }: RunIntent): Thread['state'] {
  const next = { ...state, ...change.set }
  for (const key of change.removed ?? []) delete next[key]
  return next
}

function beginning(
  intent: RunIntent,
  history: readonly Message[],
  thread: Thread | undefined,
): AgentInput | ResumeInfo {
  const input = { ...intent, messages: [...history, ...intent.messages] }
  return intent.answers ? { ...input, answers: intent.answers, state: thread?.checkpoint?.state ?? null } : input
}

function commitOf(
  ctx: RunContext,
  { processed, state }: RunIntent,
  history: readonly Message[],
  said: readonly Message[],
  runId: string,
  checkpoint: Checkpoint | undefined,
): ThreadCommit {
  const keys = [...ctx.state.keys()].filter((key) => !key.startsWith('temp:'))
  const open = unanswered([...history, ...said])
  return {
    set: Object.fromEntries(keys.map((key) => [key, ctx.state.get(key) ?? null])),
    ...(state?.removed && { removed: state.removed.filter((key) => !keys.includes(key)) }),
    messages: said.map((message) => ({ runId, message })),
    openCalls: open.map(({ id: callId, name }) => ({ callId, name, agentName: ctx.agentName })),
    checkpoint: checkpoint ?? null,
    ...(processed && { processed }),
  }
}
