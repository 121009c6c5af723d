import { ProtocolError, type Transport } from '@modelcontextprotocol/client'

/** Stands in the place of an answer that never came; no server can send it, because it is this very object. */
const LOST = { lost: true }
const ERROR = { code: -32_000, message: 'the connection broke before the answer', data: LOST }

/**
 * Ends a request whose stream ends without its answer: the SDK would wait for the time limit.
 * Contract: a stream that the SDK resumes has not ended.
 */
export function endLostRequests(transport: Transport): Transport {
  const send = transport.send.bind(transport)
  transport.send = (message, options) => {
    const isCall = 'method' in message && 'id' in message && options?.onRequestStreamEnd === undefined
    if (!isCall) return send(message, options)
    const { id } = message
    // After the answer this is one too many, which the SDK ignores.
    const onRequestStreamEnd = () => transport.onmessage?.({ jsonrpc: '2.0', id, error: ERROR })
    return send(message, { ...options, onRequestStreamEnd })
  }
  return transport
}

/** Whether an error stands for an answer that never came. */
export function isLost(error: unknown): boolean {
  return error instanceof ProtocolError && error.data === LOST
}
