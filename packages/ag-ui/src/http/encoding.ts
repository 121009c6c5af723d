import { EventType } from '@ag-ui/core'
import { KernelError } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
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
  }
}

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
  }
}

function cannotEncode(encoding: string, { type }: AgUiEvent, cause: unknown): KernelError {
  return new KernelError('ENCODING_ERROR', `${encoding}: an event of type ${type} cannot be encoded`, { cause })
}
