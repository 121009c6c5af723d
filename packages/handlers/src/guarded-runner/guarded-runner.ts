import {
  type Answers,
  type Awaitable,
  type Content,
  type Json,
  type Message,
  type Run,
  type Runner,
  type RunRequest,
  type ThreadRef,
  textOf,
} from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { applied, type Verdict } from '../guardrails/verdict.ts'
import { redactedJson } from '../redaction/redacted-json.ts'
import type { RedactionRule } from '../redaction/redaction-rule.ts'
import { Redactor } from '../redaction/redactor.ts'
import { LateRun } from './late-run.ts'

/** Decides on what a user says, before anything of it is stored. */
export type InputCheck = (
  text: string,
  about: { readonly session: ThreadRef | undefined; readonly kind: 'message' | 'answer' },
) => Awaitable<Verdict>

/** Options of `guardedRunner`; a check or rules are required. */
export interface GuardedRunnerOptions<Output = unknown> {
  readonly runner: Runner<Output>
  /** Checks each message of the user, and each text in an answer to a question. */
  readonly input?: InputCheck
  /** Rules of `redaction`, for messages, answers and results of calls from outside. */
  readonly rules?: readonly RedactionRule[]
}

const WHO = 'guardedRunner'

type Input = Exclude<Parameters<Runner['run']>[0], string>
type NewMessage = Input['messages'][number]

/**
 * A runner that checks and redacts what users say before a run begins, so before anything is stored.
 * Contract: a refused run never began: it has no events, and awaiting it throws `GUARDRAIL_REFUSED`.
 * @example const chat = guardedRunner({ runner: runner({ agent, store }), rules: [EMAIL] })
 */
export function guardedRunner<Output>(options: GuardedRunnerOptions<Output>): Runner<Output> {
  checkOptionNames(WHO, options, { runner: true, input: true, rules: true })
  const { runner, input, rules } = options
  checkOption(typeof runner?.run === 'function', WHO, 'runner must be a Runner', runner)
  checkOption(input === undefined || typeof input === 'function', WHO, 'input must be a function', input)
  checkOption(Boolean(input ?? rules), WHO, 'expected input or rules', undefined)
  const redactor = rules && new Redactor(WHO, rules)
  const redacted = (text: string) => redactor?.text(text) ?? text
  const checked = async (text: string, session: ThreadRef | undefined, kind: 'message' | 'answer') =>
    input && text.trim() !== '' ? applied(await input(text, { session, kind }), text, `the ${kind}`) : text

  const contentOf = async (content: Content, session: ThreadRef | undefined): Promise<Content> => {
    const text = textOf(content)
    const passed = await checked(text, session, 'message')
    if (passed === text) return content
    const files = typeof content === 'string' ? [] : content.filter(({ type }) => type === 'file')
    return files.length === 0 ? passed : [{ type: 'text', text: passed }, ...files]
  }
  const clean = (message: NewMessage) => (redactor?.message(message as Message) as NewMessage | undefined) ?? message
  const messagesOf = (messages: readonly NewMessage[], session: ThreadRef | undefined) =>
    Promise.all(
      messages.map(async (message) => {
        if (message?.role !== 'user') return message
        const content = await contentOf(message.content, session)
        return content === message.content ? message : { ...message, content }
      }),
    )
  const answersOf = async (answers: Answers, session: ThreadRef | undefined): Promise<Answers> => {
    const passed = Object.entries(answers).map(async ([id, answer]) => [
      id,
      await eachText(answer, (text) => checked(text, session, 'answer')),
    ])
    return Object.fromEntries(await Promise.all(passed))
  }

  return {
    agent: runner.agent,
    run(given, request = {}) {
      const whole: Input = typeof given === 'string' ? { messages: [{ role: 'user', content: given }] } : given
      // The runner says what is wrong with it.
      if (!Array.isArray(whole?.messages)) return runner.run(given, request)
      const start = { ...whole, messages: whole.messages.map(clean) }
      if (!input) return runner.run(start, request)
      const runId = runIdOf(request)
      return new LateRun<Output>(runId, async () => {
        const messages = await messagesOf(start.messages, request.session)
        return () => runner.run({ ...start, messages }, { ...request, runId })
      })
    },
    resume(given, request) {
      const texts = Object.entries(given).map(([id, answer]) => [id, redactedJson(answer, redacted)])
      const answers: Answers = Object.fromEntries(texts)
      const said = request.messages?.map(clean) as readonly Message[] | undefined
      const whole = { ...request, ...(said && { messages: said }) }
      if (!input) return runner.resume(answers, whole)
      const runId = runIdOf(request)
      return new LateRun<Output>(runId, async () => {
        const passed = await answersOf(answers, request.session)
        const messages = said && ((await messagesOf(said, request.session)) as readonly Message[])
        return () => runner.resume(passed, { ...whole, runId, ...(messages && { messages }) })
      })
    },
    cancel: (session, request) => runner.cancel(session, request),
    ...(runner.continue && {
      continue: (session: ThreadRef, request) => runner.continue?.(session, request) as Run<Output>,
    }),
    ...(runner.lost && { lost: async (query) => (await runner.lost?.(query)) ?? [] }),
    ...(runner.progress && { progress: async (session, runId) => runner.progress?.(session, runId) }),
    ...(runner.fork && { fork: async (session, request) => (await runner.fork?.(session, request)) ?? session }),
  } satisfies Runner<Output>
}

function runIdOf({ runId }: Pick<RunRequest, 'runId'>): string {
  // biome-ignore lint/plugin: it is outside of runs, so nothing replays it
  return runId ?? crypto.randomUUID()
}

/** Puts in place of each text of a JSON value what a function gives for it. */
async function eachText(value: Json, change: (text: string) => Promise<string>): Promise<Json> {
  if (typeof value === 'string') return change(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Promise.all(value.map((item: Json) => eachText(item, change)))
  const entries = await Promise.all(
    Object.entries(value).map(async ([key, item]) => [key, await eachText(item, change)]),
  )
  return Object.fromEntries(entries)
}
