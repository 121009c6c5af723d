import { EventType, type MessagesSnapshotEvent, type RunStartedEvent } from '@ag-ui/core'
import { KernelError } from '@troupe/kernel'
import { jsonLength } from '@troupe/kernel/kit'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'
import type { Logged } from '../run/tail.ts'
import { gate } from '../write/gate.ts'
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

/** Makes the encoding for a reader. Contract: filters events by protocol version; `encode` throws `ENCODING_ERROR` for an event that cannot be encoded. */
export async function encodingFor(
  type: typeof SSE | typeof PROTOBUF,
  protocolVersion: string | undefined,
): Promise<Encoding> {
  return type === SSE ? sse(protocolVersion) : protobuf(protocolVersion)
}

function sse(version: string | undefined): Encoding {
  return {
    contentType: `${SSE}; charset=utf-8`,
    keepAlive: new TextEncoder().encode(': ping\n\n'),
    encode({ seq, event, json }, runId) {
      try {
        const shown = gate(event, version)
        const text = shown === event && json !== undefined ? json : JSON.stringify(shown)
        // A run id has no line break: it was validated with the input.
        return `id: ${runId}:${seq}\ndata: ${text}\n\n`
      } catch (cause) {
        throw cannotEncode('sse', event, cause)
      }
    },
    aside: (event) => `data: ${JSON.stringify(gate(event, version))}\n\n`,
    async *spread(event, pages, id) {
      const text = JSON.stringify(gate(event, version))
      const cut = text.lastIndexOf(NO_MESSAGES) + NO_MESSAGES.length - 1
      yield `${id === undefined ? '' : `id: ${id}\n`}data: ${text.slice(0, cut)}`
      let comma = ''
      for await (const messages of pages) {
        for (const message of knownMessages(messages, version)) {
          yield `${comma}${JSON.stringify(message)}`
          comma = ','
        }
      }
      yield `${text.slice(cut)}\n\n`
    },
  }
}

const NO_MESSAGES = '"messages":[]'

function knownMessages(messages: readonly AgUiMessage[], version: string | undefined): readonly AgUiMessage[] {
  const event = gate({ type: EventType.MESSAGES_SNAPSHOT, messages: [...messages] }, version)
  return (event as MessagesSnapshotEvent).messages
}

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

async function protobuf(version: string | undefined): Promise<Encoding> {
  // Loaded on demand: 200 kB that a server with SSE clients never needs.
  const { encode } = await import('@ag-ui/proto')
  const old = version === undefined || Number.parseInt(version, 10) < 1
  const frame = (event: AgUiEvent) => {
    const message = encode(gate(event, version))
    const bytes = new Uint8Array(4 + message.length)
    new DataView(bytes.buffer).setUint32(0, message.length)
    bytes.set(message, 4)
    return bytes
  }
  return {
    contentType: PROTOBUF,
    encode({ event }) {
      if (old && NOT_IN_OLD_PROTOBUF.has(event.type)) return undefined
      try {
        return frame(event)
      } catch (cause) {
        throw cannotEncode('protobuf', event, cause)
      }
    },
    aside: frame,
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
      yield frame(withMessages(event, all))
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
