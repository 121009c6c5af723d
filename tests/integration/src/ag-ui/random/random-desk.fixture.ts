import { agUiHandler, agUiHandlers, type MessageOptions } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { backoff, chatModelAgent } from '@troupe/chat-model'
import { agentTool, runner } from '@troupe/flow'
import {
  type Agent,
  type ChatModel,
  defineTool,
  KernelError,
  type Message,
  type ModelRequest,
  type Owner,
  type Store,
  type Tool,
  textOf,
} from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import { random } from '../../load/random.ts'

export const OWNER: Owner = { app: 'random', user: 'ann' }
/** A user message with this word has an answer that never ends. */
export const ENDLESS = 'endless'

/** The last word of such an answer. */
export const LAST_WORD = 'upon '

const parameters = { type: 'object' } as const
const tool = (name: string, invoke: NonNullable<Tool['invoke']>): Tool =>
  defineTool({ name, description: name, parameters, invoke })
const pay: Tool = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters,
  needsApproval: () => true,
  invoke: () => 'Paid.',
})
const look = tool('look', (_, ctx) => {
  ctx.state.set('looked', Number(ctx.state.get('looked') ?? 0) + 1)
  return 'Seen.'
})
const fail = tool('fail', () => {
  throw new Error('secret: broken')
})
const ask = tool('ask', async (_, ctx) => `${String(await ctx.interrupt({ reason: 'input', message: 'What?' }))}.`)
const report = tool('report', async (_, ctx) => {
  await ctx.emit('progress', { done: 1 })
  return { content: 'Reported.', display: 'Done', data: { n: 1 } }
})
const NAMES = ['look', 'look', 'fail', 'pay', 'ask', 'report', 'pick_colour', 'helper']

const PREFIX = 'page_'
/** What clients of `/part` see of the history: the agent there has structured output, and knows the page's tool by another name. */
export const LESS: MessageOptions = { omit: ['structured-output', 'reasoning'], clientToolPrefix: PREFIX }
const prefixed = (name: string) => (name === 'pick_colour' ? PREFIX + name : name)

/** A model whose answer depends on the history alone, so that conversations can be repeated. */
function randomModel(names: readonly string[], structured = false): ChatModel {
  let calls = 0
  const answerIn = structured ? asJson : (words: string[]) => words
  const turn = ({ messages }: ModelRequest): ScriptedTurn => {
    if (isEndless(messages)) return { text: ['Once ', LAST_WORD, 'a time'], hang: 'mid' }
    const below = random(seedOf(messages) + 1)
    for (let i = 0; i < 5; i++) below(2)
    const since = messages.length - messages.findLastIndex(({ role }) => role === 'user')
    const words = Array.from({ length: 1 + below(4) }, () => ['word ', 'one, ', '你好 ', '"q" '][below(4)] as string)
    const reasoning = below(4) === 0 && { reasoning: ['Hm, ', 'well.'] }
    const isLast = since > 6 || below(100) < 45
    const text = isLast ? answerIn(words, below) : words
    if (below(12) === 0) return failing(text, below)
    if (isLast) return { text, ...reasoning }
    const toolCalls = Array.from({ length: 1 + below(3) }, () => ({
      id: `c${++calls}`,
      name: names[below(names.length)] as string,
      arguments: { from: text, request: text.join('') },
    }))
    return { ...(below(2) && { text }), ...reasoning, toolCalls }
  }
  const scripted = scriptedModel([turn], { repeat: true })
  const overloaded = new KernelError('MODEL_OVERLOADED', 'secret: busy', { retryable: true })
  const tried = new Set<string>()
  return {
    name: 'random',
    async *stream(request, options) {
      const seed = seedOf(request.messages)
      const attempt = `${seed} ${request.step}`
      if (seed % 9 === 0 && !tried.has(attempt)) {
        tried.add(attempt)
        yield { type: 'text-delta', delta: 'Half an answer' }
        throw overloaded
      }
      yield* scripted.stream(request, options)
    },
  }
}

/** An answer whose model fails before or within its text. */
function failing(text: readonly string[], below: (limit: number) => number): ScriptedTurn {
  return { text, error: { at: below(2) ? 'mid' : 'before', error: new Error('secret: down') } }
}

/** An answer as JSON that fits its schema; sometimes the model has to correct itself. */
function asJson(words: readonly string[], below: (limit: number) => number): string[] {
  return below(5) > 0 ? ['{"said":', `${JSON.stringify(words.join(''))}}`] : [...words]
}

/** Whether the last message asks for an answer that never ends. */
function isEndless(messages: readonly Message[]): boolean {
  const last = messages.at(-1)
  return last?.role === 'user' && textOf(last.content).includes(ENDLESS)
}

/** A number for a history. */
function seedOf(messages: readonly Message[]): number {
  let hash = 2_166_136_261
  for (const { role, content } of messages) {
    for (const char of `${role}${textOf(content)}`) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 16_777_619)
  }
  return hash >>> 0
}

/** A server with an agent that does everything that clients can see. */
export interface RandomDesk extends AsyncDisposable {
  readonly url: string
  readonly store: Store
}

/** Serves a random agent on loopback. */
export async function serveRandomDesk(): Promise<RandomDesk> {
  const store = memoryStore()
  const retry = backoff({ attempts: 2, firstMs: 1, longestMs: 1 })
  const inner = chatModelAgent({
    name: 'helper',
    description: 'Helps.',
    model: randomModel(['look', 'report']),
    tools: [look, report],
    retry,
  })
  const tools = [look, fail, pay, ask, report, agentTool(inner, { forward: true })]
  const agent: Agent = chatModelAgent({ name: 'desk', model: randomModel(NAMES), tools, retry })
  const output = { type: 'object', properties: { said: { type: 'string' } }, required: ['said'] } as const
  const clerk: Agent = chatModelAgent({
    name: 'clerk',
    model: randomModel(NAMES.map(prefixed), true),
    tools,
    retry,
    output,
  })
  const flow = runner({ agent, store, report: () => {} })
  const plain = { runner: flow }
  const inPart = {
    runner: runner({ agent: clerk, store, report: () => {} }),
    show: { omit: LESS.omit ?? [] },
    clientTools: { prefix: PREFIX },
  }
  const limits = { maxConcurrentExecutions: 1_000, limits: { streamsPerUser: 1_000 } }
  const common = { store, owner: OWNER, report: () => {}, assumedVersion: '0.0.59', ...limits }
  const handler = agUiHandlers([
    agUiHandler({ ...common, ...plain, path: '/whole' }),
    agUiHandler({ ...common, ...inPart, path: '/part' }),
  ])
  const server = await agUiServer(handler)
  return { url: server.url, store, [Symbol.asyncDispose]: () => server.stop(100) }
}
