import { type JsonObject, type Message, type ModelRequest, type ToolSpec, textOf } from '@troupe/kernel'
import { HELP, STORY } from './demo-texts.ts'

/** What the demo model does next: some words, a call, or both. */
export interface Move {
  readonly text?: string
  readonly call?: { readonly name: string; readonly args: JsonObject }
}

/** Something that can be asked for: who does it, with which tool. */
interface Intent {
  readonly fits: RegExp
  /** The one to hand over to where the tool is not at hand. */
  readonly agent: string
  readonly tool: string
  readonly move: (question: string) => Move
}

/** How the words of other agents begin. */
const CONTEXT = 'For context:'

const INTENTS: readonly Intent[] = [
  {
    fits: /\b(code|codebase|file|files|function|class)\b/i,
    agent: 'RouterAgent',
    tool: 'codebase_investigator',
    move: (objective) => calling('codebase_investigator', { objective }, 'Let me have somebody look.'),
  },
  {
    fits: /\b(dark|light|theme)\b/i,
    agent: 'RouterAgent',
    tool: 'set_theme',
    move: (question) => calling('set_theme', { theme: /\blight\b/i.test(question) ? 'light' : 'dark' }),
  },
  {
    fits: /\bpostcard\b/i,
    agent: 'ChatAgent',
    tool: 'send_postcard',
    move: (question) => calling('send_postcard', postcard(question), 'I have written one. Shall I post it?'),
  },
  {
    fits: /\b(what|show|read|which)\b.*\blist\b/i,
    agent: 'ChatAgent',
    tool: 'read_packing_list',
    move: () => calling('read_packing_list', {}),
  },
  {
    fits: /\b(pack|packing|list)\b/i,
    agent: 'ChatAgent',
    tool: 'add_to_packing_list',
    move: (question) => calling('add_to_packing_list', { items: thingsFor(question) }, 'Let me think what you need.'),
  },
  {
    fits: /\bweather\b/i,
    agent: 'WeatherAgent',
    tool: 'get_weather',
    move: (question) => {
      const city = placeIn(question)
      if (!city) return { text: 'In which city? Ask me about the weather in Lisbon, say.' }
      return calling('get_weather', { city }, `Let me look up the weather in ${city}.`)
    },
  },
  { fits: /\b(story|long)\b/i, agent: 'ChatAgent', tool: 'send_postcard', move: () => ({ text: STORY }) },
  { fits: /(?:)/, agent: 'ChatAgent', tool: 'send_postcard', move: () => ({ text: HELP }) },
]

/** Contract: the same request gives the same move. */
export function nextMove({ messages, tools }: ModelRequest): Move {
  const last = messages.at(-1)
  const question = questionIn(messages)
  const has = (name: string) => tools.some((tool) => tool.name === name)
  if (has('complete_task')) return investigate(question, last, messages)
  if (last?.role === 'tool') return { text: reported(last) }
  const intent = INTENTS.find(({ fits }) => fits.test(question)) as Intent
  if (has(intent.tool)) return intent.move(question)
  const targets = targetsIn(tools)
  // An agent that was just given the question does not give it back.
  const router = isContext(last) ? undefined : 'RouterAgent'
  const wanted = [namedIn(question, targets), intent.agent, router]
  const target = wanted.find((name) => name !== undefined && targets.includes(name))
  return target ? calling('transfer_to_agent', { agent_name: target }) : { text: HELP }
}

function reported(result: Extract<Message, { role: 'tool' }>): string {
  if (result.error?.code === 'TOOL_REFUSED') return 'All right, I have not sent it.'
  const text = textOf(result.content)
  return result.name === 'get_weather' ? `${text} I am a demo model, so take no umbrella on my word.` : text
}

/** Looks for the last word of the question, first where it is declared, reads there, and hands in what it saw. */
function investigate(question: string, last: Message | undefined, messages: readonly Message[]): Move {
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

function searching(text: string): Move {
  return calling('search_files', { text }, `I look for “${text}”.`)
}

function calling(name: string, args: JsonObject, text?: string): Move {
  return { call: { name, args }, ...(text !== undefined && { text }) }
}

/** What the user asked last; what other agents said stands between as context. */
function questionIn(messages: readonly Message[]): string {
  const asked = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content))
  return asked.findLast((text) => !text.startsWith(CONTEXT)) ?? ''
}

function isContext(message: Message | undefined): boolean {
  return message?.role === 'user' && textOf(message.content).startsWith(CONTEXT)
}

/** Whom the model may hand over to, as the tool advertises it. */
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
