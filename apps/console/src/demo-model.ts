import {
  type ChatModel,
  type Json,
  type JsonObject,
  type Message,
  type ModelPart,
  type ModelRequest,
  stream,
  textOf,
} from '@troupe/kernel'

/** A model without a key: it transfers to the agent that a word of the question names, calls the weather tool for a city and repeats its result. */
export function demoModel({ wordDelayMs }: { readonly wordDelayMs: number }): ChatModel {
  return {
    name: 'demo',
    stream: (request, { signal }) =>
      stream<ModelPart>(async (sink) => {
        for (const part of partsOf(request)) {
          if (part.type === 'text-delta' && wordDelayMs > 0) await pause(wordDelayMs, signal)
          signal.throwIfAborted()
          const wait = sink.write(part)
          if (wait) await wait
        }
      }),
  }
}

function partsOf({ messages, tools }: ModelRequest): ModelPart[] {
  const last = messages.at(-1)
  const question = questionIn(messages)
  const has = (tool: string) => tools.some(({ name }) => name === tool)
  if (has('complete_task')) return investigate(question, last, messages)
  if (last?.role === 'tool')
    return say(`${textOf(last.content)} (I am a demo model; set TROUPE_MODEL for a real one.)`, messages)
  if (has('codebase_investigator') && /\b(code|file|files|function|class)\b/i.test(question)) {
    return call('codebase_investigator', { objective: question }, messages, 'Let me ask the investigator.')
  }
  const city = cityIn(question)
  if (city && has('get_weather')) {
    return call('get_weather', { city }, messages, `Let me look up the weather in ${city}.`)
  }
  const target = targetFor(question, targetsIn(tools))
  if (target) return call('transfer_to_agent', { agent_name: target }, messages)
  return say('I am a demo model and only know the weather: ask me about the weather in a city.', messages)
}

/** Searches for the last word of the question, first for its declaration, and returns the lines that contain it. */
function investigate(question: string, last: Message | undefined, messages: readonly Message[]): ModelPart[] {
  const word = question.match(/[\w-]{3,}/g)?.at(-1) ?? 'Troupe'
  if (last?.role !== 'tool') return search(`function ${word}`, messages)
  const found = textOf(last.content)
  const searches = messages.filter(({ role }) => role === 'tool').length
  if (searches === 1 && found.startsWith('Nothing')) return search(word, messages)
  return call('complete_task', { result: `I found:\n${found}` }, messages)
}

function search(text: string, messages: readonly Message[]): ModelPart[] {
  return call('search_files', { text }, messages, `I search for "${text}".`)
}

/** The last question of the user, without the context from other agents. */
function questionIn(messages: readonly Message[]): string {
  const asked = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content))
  return asked.findLast((text) => !text.startsWith('For context:')) ?? ''
}

/** The agent whose name is in the question (PoemAgent for "Write me a poem"), or the one for small talk. */
function targetFor(question: string, targets: readonly Json[]): Json | undefined {
  const words: readonly string[] = question.toLowerCase().match(/\p{L}+/gu) ?? []
  const named = targets.find((name) =>
    words.includes(
      String(name)
        .replace(/Agent$/, '')
        .toLowerCase(),
    ),
  )
  return named ?? targets.find((name) => name === 'ChatAgent')
}

/** The agents that the model can transfer to, according to the tool. */
function targetsIn(tools: ModelRequest['tools']): readonly Json[] {
  const tool = tools.find(({ name }) => name === 'transfer_to_agent')
  const parameters = tool?.parameters as { properties?: { agent_name?: { enum?: readonly Json[] } } } | undefined
  return parameters?.properties?.agent_name?.enum ?? []
}

function call(name: string, args: JsonObject, messages: readonly Message[], text = ''): ModelPart[] {
  const callId = `call-${messages.length}`
  const delta = JSON.stringify(args)
  return [
    ...(text === '' ? [] : words(text)),
    { type: 'tool-call-start', callId, name },
    { type: 'tool-call-delta', callId, delta },
    { type: 'tool-call-end', callId },
    { type: 'finish', reason: 'tool-calls', usage: usage(messages, text + delta) },
  ]
}

function cityIn(question: string): string | undefined {
  const topic = question.search(/weather\b/i)
  if (topic === -1) return undefined
  return /\bin\s+(\p{L}[\p{L}\s'-]*)/iu.exec(question.slice(topic))?.[1]?.trim()
}

function say(text: string, messages: readonly Message[]): ModelPart[] {
  return [...words(text), { type: 'finish', reason: 'stop', usage: usage(messages, text) }]
}

function words(text: string): ModelPart[] {
  return text.split(/(?<= )/).map((delta) => ({ type: 'text-delta', delta }))
}

/** A rough count, which is enough for a demo. */
function usage(messages: readonly Message[], answer: string): { inputTokens: number; outputTokens: number } {
  const length = messages.reduce((sum, { content }) => sum + textOf(content).length, 0)
  return { inputTokens: Math.ceil(length / 4), outputTokens: Math.ceil(answer.length / 4) }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
