import { type ChatModel, type Message, type ModelPart, type ModelRequest, stream, textOf } from '@troupe/kernel'

/** A model that needs no key: it calls the weather tool for a city, tells its result, and says what it is. */
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
  const question = textOf(messages.findLast(({ role }) => role === 'user')?.content ?? '')
  if (last?.role === 'tool')
    return say(`${textOf(last.content)} (I am a demo model; set TROUPE_MODEL for a real one.)`, messages)
  const city = cityIn(question)
  if (city && tools.some(({ name }) => name === 'get_weather')) {
    const callId = `call-${messages.length}`
    return [
      ...words(`Let me look up the weather in ${city}.`),
      { type: 'tool-call-start', callId, name: 'get_weather' },
      { type: 'tool-call-delta', callId, delta: JSON.stringify({ city }) },
      { type: 'tool-call-end', callId },
      { type: 'finish', reason: 'tool-calls', usage: usage(messages, question) },
    ]
  }
  return say('I am a demo model and know nothing but the weather: ask me about the weather in a city.', messages)
}

function cityIn(question: string): string | undefined {
  return /weather\b.*?\bin\s+([\p{L}][\p{L}\s'-]*)/iu.exec(question)?.[1]?.trim()
}

function say(text: string, messages: readonly Message[]): ModelPart[] {
  return [...words(text), { type: 'finish', reason: 'stop', usage: usage(messages, text) }]
}

function words(text: string): ModelPart[] {
  return text.split(/(?<= )/).map((delta) => ({ type: 'text-delta', delta }))
}

/** A rough count, as a demo model may have. */
function usage(messages: readonly Message[], answer: string): { inputTokens: number; outputTokens: number } {
  const heard = messages.reduce((sum, { content }) => sum + textOf(content).length, 0)
  return { inputTokens: Math.ceil(heard / 4), outputTokens: Math.ceil(answer.length / 4) }
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
