import { EventType, type RunStartedEvent } from '@ag-ui/core'
import { KernelError } from '@troupe/kernel'
import { jsonLength } from '@troupe/kernel/kit'
import type { Logged } from '../log/logged.ts'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'
import { knownEvent, knownMessages } from '../write/gate.ts'
import { SerialOrder } from '../write/serial-order.ts'
import type { Understood } from '../write/understood.ts'
import { PROTOBUF, SSE } from './negotiate.ts'

/** The encoding of one reader's stream. */
export interface Encoding {
  /** Contract: sent exactly like this; clients recognise protobuf by the whole value. */
  readonly contentType: string
  /** Sent while nothing happens; undefined if clients of this encoding would not understand it. */
  readonly keepAlive?: Uint8Array<ArrayBuffer>
  /** Contract: undefined for an event that this reader must not see. */
  encode(logged: Logged, runId: string): string | Uint8Array | undefined
  /** Encodes an event of this connection alone, which is not in the log. */
  aside(event: AgUiEvent): string | Uint8Array
  /** Encodes an event whose list of messages, the last of its fields, comes in pages; `id` is its position in the log. */
  spread(
    event: AgUiEvent,
    pages: AsyncIterable<readonly AgUiMessage[]>,
    id?: string,
  ): AsyncIterable<string | Uint8Array>
}

/** Makes the encoding for a reader. Contract: shows only what the reader understands; `encode` throws `ENCODING_ERROR` for an event that cannot be encoded. */
export async function encodingFor(type: typeof SSE | typeof PROTOBUF, understood: Understood): Promise<Encoding> {
  const encoding = type === SSE ? sse(understood) : await protobuf(understood)
  return understood.parallel ? encoding : serial(encoding)
}

/** The encoding for a reader that gets events in another order than the log has them. Contract: without positions, so such a reader cannot resume. */
function serial(encoding: Encoding): Encoding {
  const order = new SerialOrder()
  return {
    ...encoding,
    encode({ event }) {
      const frames = order.take(event).map((shown) => encoding.encode({ seq: 0, event: shown }, ''))
      return joined(frames.filter((frame) => frame !== undefined))
    },
    spread: (event, pages) => encoding.spread(event, pages),
  }
}

function joined(frames: readonly (string | Uint8Array)[]): string | Uint8Array | undefined {
  if (frames.length <= 1) return frames[0]
  const texts = frames.filter((frame) => typeof frame === 'string')
  if (texts.length > 0) return texts.join('')
  const parts = frames.filter((frame) => typeof frame !== 'string')
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

function sse(understood: Understood): Encoding {
  return {
    contentType: `${SSE}; charset=utf-8`,
    keepAlive: new TextEncoder().encode(': ping\n\n'),
    encode({ seq, event, json }, runId) {
      try {
        const shown = knownEvent(event, understood)
        if (!shown) return undefined
        const text = shown === event && json !== undefined ? json : JSON.stringify(shown)
        // A run id has no line break: it was validated with the input.
        return `${seq > 0 ? `id: ${runId}:${seq}\n` : ''}data: ${text}\n\n`
      } catch (cause) {
        throw cannotEncode('sse', event, cause)
      }
    },
    aside: (event) => `data: ${JSON.stringify(knownEvent(event, understood))}\n\n`,
    async *spread(event, pages, id) {
      const text = JSON.stringify(knownEvent(event, understood))
      const cut = text.lastIndexOf(NO_MESSAGES) + NO_MESSAGES.length - 1
      yield `${id === undefined ? '' : `id: ${id}\n`}data: ${text.slice(0, cut)}`
      let comma = ''
      for await (const messages of pages) {
        for (const message of knownMessages(messages, understood)) {
          yield `${comma}${JSON.stringify(message)}`
          comma = ','
        }
      }
      yield `${text.slice(cut)}\n\n`
    },
  }
}

const NO_MESSAGES = '"messages":[]'

/** The most characters of a history in one frame of protobuf, which begins with its length and so cannot be sent in pieces. */
const FRAME_CHARS = 8_000_000

/** Events that the protobuf schema of clients before 1.0 does not have. */
const NOT_IN_OLD_PROTOBUF: ReadonlySet<EventType> = new Set([
  EventType.TOOL_CALL_RESULT,
  EventType.ACTIVITY_SNAPSHOT,
  EventType.ACTIVITY_DELTA,
  EventType.REASONING_START,
  EventType.REASONING_MESSAGE_START,
  EventType.REASONING_MESSAGE_CONTENT,
  EventType.REASONING_MESSAGE_END,
  EventType.REASONING_MESSAGE_CHUNK,
  EventType.REASONING_END,
  EventType.REASONING_ENCRYPTED_VALUE,
])

async function protobuf(understood: Understood): Promise<Encoding> {
  // Loaded on demand: 200 kB that a server with SSE clients never needs.
  const { encode } = await import('@ag-ui/proto')
  const frame = (event: AgUiEvent) => {
    const message = encode(event)
    const bytes = new Uint8Array(4 + message.length)
    new DataView(bytes.buffer).setUint32(0, message.length)
    bytes.set(message, 4)
    return bytes
  }
  return {
    contentType: PROTOBUF,
    encode({ event }) {
      if (!understood.current && NOT_IN_OLD_PROTOBUF.has(event.type)) return undefined
      const shown = knownEvent(event, understood)
      try {
        return shown && frame(shown)
      } catch (cause) {
        throw cannotEncode('protobuf', event, cause)
      }
    },
    aside: (event) => frame(knownEvent(event, understood) ?? event),
    async *spread(event, pages) {
      const all: AgUiMessage[] = []
      let room = FRAME_CHARS
      for await (const messages of pages) {
        for (const message of messages) {
          room -= jsonLength(message, FRAME_CHARS)
          if (room < 0) throw cannotEncode('protobuf', event, new KernelError('VALIDATION_FAILED', TOO_LONG))
          all.push(message)
        }
      }
      const whole = withMessages(event, all)
      yield frame(knownEvent(whole, understood) ?? whole)
    },
  }
}

const TOO_LONG = `protobuf: the history has more than ${FRAME_CHARS} characters; a client of this thread needs SSE`

function withMessages(event: AgUiEvent, messages: AgUiMessage[]): AgUiEvent {
  if (event.type === EventType.MESSAGES_SNAPSHOT) return { ...event, messages }
  const { input, ...started } = event as RunStartedEvent
  return { ...started, ...(input && { input: { ...input, messages } }) }
}

function cannotEncode(encoding: string, { type }: AgUiEvent, cause: unknown): KernelError {
  return new KernelError('ENCODING_ERROR', `${encoding}: an event of type ${type} cannot be encoded`, { cause })
}
