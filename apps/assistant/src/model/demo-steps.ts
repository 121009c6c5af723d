import { type JsonObject, type Message, type ModelRequest, type ToolSpec, textOf } from '@troupe/kernel'
import { HELP, STORY } from './demo-texts.ts'

/** The next step of the demo model: a text, a call, or both. */
export interface DemoStep {
  readonly text?: string
  readonly call?: { readonly name: string; readonly args: JsonObject }
}

/** A kind of request, with the agent and the tool for it. */
interface Intent {
  readonly pattern: RegExp
  /** A second pattern that has to match too. */
  readonly alsoPattern?: RegExp
  /** The agent to transfer to if the tool is missing. */
  readonly agent: string
  readonly tool: string
  readonly step: (question: string) => DemoStep
}

/** The beginning of messages from other agents. */
const CONTEXT = 'For context:'

const INTENTS: readonly Intent[] = [
  {
    pattern: /\b(code|codebase|file|files|function|class)\b/i,
    agent: 'RouterAgent',
    tool: 'codebase_investigator',
    step: (objective) => calling('codebase_investigator', { objective }, 'Let me ask the investigator.'),
  },
  {
    pattern: /\b(dark|light|theme)\b/i,
    agent: 'RouterAgent',
    tool: 'set_theme',
    step: (question) => calling('set_theme', { theme: /\blight\b/i.test(question) ? 'light' : 'dark' }),
  },
  {
    pattern: /\bpostcard\b/i,
    agent: 'ChatAgent',
    tool: 'send_postcard',
    step: (question) => calling('send_postcard', postcard(question), 'I have written one. Shall I post it?'),
  },
  {
    pattern: /\b(what|show|read|which)\b/i,
    alsoPattern: /\blist\b/i,
    agent: 'ChatAgent',
    tool: 'read_packing_list',
    step: () => calling('read_packing_list', {}),
  },
  {
    pattern: /\b(pack|packing|list)\b/i,
    agent: 'ChatAgent',
    tool: 'add_to_packing_list',
    step: (question) => calling('add_to_packing_list', { items: thingsFor(question) }, 'Let me think what you need.'),
  },
  {
    pattern: /\bweather\b/i,
    agent: 'WeatherAgent',
    tool: 'get_weather',
    step: (question) => {
      const city = placeIn(question)
      if (!city) return { text: 'In which city? Ask me about the weather in Lisbon, say.' }
      return calling('get_weather', { city }, `Let me look up the weather in ${city}.`)
    },
  },
  {
    pattern: /\b(book|seats?)\b/i,
    alsoPattern: /\b(ferry|boat)\b/i,
    agent: 'FerryAgent',
    tool: 'ferries_book_ferry',
    step: (question) => {
      const args = { to: harbourIn(question), people: peopleIn(question) }
      return calling('ferries_book_ferry', args, 'I ask the harbour.')
    },
  },
  {
    pattern: /\b(ferry|ferries|boats?)\b/i,
    agent: 'FerryAgent',
    tool: 'ferries_departures',
    step: (question) => calling('ferries_departures', { to: harbourIn(question) }, 'I look at the timetable.'),
  },
  { pattern: /\b(story|long)\b/i, agent: 'ChatAgent', tool: 'send_postcard', step: () => ({ text: STORY }) },
  { pattern: /(?:)/, agent: 'ChatAgent', tool: 'send_postcard', step: () => ({ text: HELP }) },
]

/** Decides on the next step. Contract: the same request gives the same step. */
export function nextStep({ messages, tools }: ModelRequest): DemoStep {
  const last = messages.at(-1)
  const question = questionIn(messages)
  const has = (name: string) => tools.some((tool) => tool.name === name)
  if (has('complete_task')) return investigate(question, last, messages)
  const hasSearched = last?.role === 'tool' && last.name === 'search_tools'
  if (last?.role === 'tool' && !hasSearched) return { text: answerTo(last) }
  const intent = INTENTS.find(
    ({ pattern, alsoPattern = pattern }) => pattern.test(question) && alsoPattern.test(question),
  ) as Intent
  if (has(intent.tool)) return intent.step(question)
  const isHere = has('search_tools') && intent.agent === 'FerryAgent'
  if (isHere && !hasSearched)
    return calling('search_tools', { query: intent.tool.replaceAll('_', ' ') }, 'I look for a tool.')
  const targets = targetsIn(tools)
  // An agent that has just been transferred to does not transfer back.
  const router = isContext(last) ? undefined : 'RouterAgent'
  const wanted = [namedIn(question, targets), intent.agent, router]
  const target = wanted.find((name) => name !== undefined && targets.includes(name))
  return target ? calling('transfer_to_agent', { agent_name: target }) : { text: HELP }
}

function answerTo(result: Extract<Message, { role: 'tool' }>): string {
  if (result.error?.code === 'TOOL_REFUSED') return 'All right, I have not sent it.'
  const text = textOf(result.content)
  if (result.name?.startsWith('ferries_')) {
    return result.error ? 'All right, the harbour has booked nothing.' : (harbourAnswer(result.data) ?? text)
  }
  return result.name === 'get_weather' ? `${text} I am a demo model, so do not rely on it.` : text
}

/** Searches for the last word of the question, first for its declaration, reads the file and returns what it found. */
function investigate(question: string, last: Message | undefined, messages: readonly Message[]): DemoStep {
  const word = question.match(/[\w-]{3,}/g)?.at(-1) ?? 'Troupe'
  if (last?.role !== 'tool') return searching(`function ${word}`)
  const results = messages.filter((message) => message.role === 'tool')
  const found = textOf(results.findLast(({ name }) => name === 'search_files')?.content ?? '')
  if (last.name === 'read_file') {
    return calling(
      'complete_task',
      { result: `\`${word}\` is declared here:\n\n\`\`\`\n${found}\n\`\`\`` },
      'That is the place.',
    )
  }
  if (!found.startsWith('Nothing')) {
    const [, path = '', line = '1'] = /^(.+?):(\d+): /.exec(found) ?? []
    return calling('read_file', { path, from: Number(line) }, `I read ${path} from line ${line}.`)
  }
  if (results.length === 1) return searching(word)
  return calling('complete_task', { result: found })
}

function searching(text: string): DemoStep {
  return calling('search_files', { text }, `I search for “${text}”.`)
}

function calling(name: string, args: JsonObject, text?: string): DemoStep {
  return { call: { name, args }, ...(text !== undefined && { text }) }
}

/** The last question of the user, without the context from other agents. */
function questionIn(messages: readonly Message[]): string {
  const asked = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content))
  return asked.findLast((text) => !text.startsWith(CONTEXT)) ?? ''
}

function isContext(message: Message | undefined): boolean {
  return message?.role === 'user' && textOf(message.content).startsWith(CONTEXT)
}

/** The agents that the model can transfer to, according to the tool. */
function targetsIn(tools: readonly ToolSpec[]): readonly unknown[] {
  const tool = tools.find(({ name }) => name === 'transfer_to_agent')
  const parameters = tool?.parameters as { properties?: { agent_name?: { enum?: readonly unknown[] } } } | undefined
  return parameters?.properties?.agent_name?.enum ?? []
}

/** The agent whose name is in the question: PoemAgent for "Write me a poem". */
function namedIn(question: string, targets: readonly unknown[]): string | undefined {
  const words: readonly string[] = question.toLowerCase().match(/\p{L}+/gu) ?? []
  return targets.map(String).find((name) => words.includes(name.replace(/Agent$/, '').toLowerCase()))
}

function placeIn(question: string): string | undefined {
  return /\b(?:in|from|for)\s+(\p{Lu}[\p{L}'-]*(?:\s\p{Lu}[\p{L}'-]*)*)/u.exec(question)?.[1]
}

function harbourIn(question: string): string {
  return /vitsund/i.test(question) ? 'Vitsund' : 'Skarholm'
}

const NUMBERS = ['one', 'two', 'three', 'four', 'five', 'six']

function peopleIn(question: string): number {
  const words = question.toLowerCase().match(/\w+/g) ?? []
  const said = words.map((word) => NUMBERS.indexOf(word) + 1 || Number(word)).find((count) => count >= 1 && count <= 6)
  return said ?? 1
}

/** What the harbour has said, in words. */
function harbourAnswer(data: unknown): string | undefined {
  const { ferries, booked } = (data ?? {}) as {
    readonly ferries?: readonly { readonly to: string; readonly at: string; readonly seats: number }[]
    readonly booked?: { readonly to: string; readonly at: string; readonly people: number }
  }
  if (booked) return `Booked: ${booked.people} on the ferry to ${booked.to} at ${booked.at}.`
  return ferries?.map(({ to, at, seats }) => `- ${at} to ${to}, ${seats} seats left`).join('\n')
}

function postcard(question: string): JsonObject {
  const to = /\b(?:[Ss]end|[Tt]o)\s+(\p{Lu}[\p{L}'-]*)/u.exec(question)?.[1] ?? 'Ada'
  const place = placeIn(question) ?? 'the road'
  return {
    to,
    place,
    text: `Dear ${to}, greetings from ${place}. The play went well, and the sea is blue. See you soon!`,
  }
}

function thingsFor(question: string): string[] {
  const things = ['Passport', 'Toothbrush', 'A good book']
  if (/rain|wet|bergen/i.test(question)) things.unshift('Rain jacket', 'Dry socks')
  if (/sun|beach|lisbon/i.test(question)) things.unshift('Sun hat', 'Swimwear')
  if (/snow|cold|winter/i.test(question)) things.unshift('Wool hat', 'Warm boots')
  return things
}
