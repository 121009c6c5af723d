import { type ErrorInfo, type FinishReason, KernelError, type Outcome, type Usage } from '@troupe/kernel'

/** The level of a line: `warn` for a tool that failed, `error` for a model call, a hook or a run that failed. */
export type LogLevel = 'info' | 'warn' | 'error'

/** An error in the log; its message may quote the conversation, so it is written with `content` only. */
export type LogError = {
  readonly code: ErrorInfo['code']
  readonly retryable?: boolean
  /** The handler and hook that failed. */
  readonly handler?: string
  readonly hook?: string
  readonly message?: string
}

/** The fields of a line, by event. */
export type LogFields =
  | { readonly event: 'agent-start'; readonly messages: number; readonly tools: number; readonly input?: string }
  | {
      readonly event: 'agent-end'
      readonly outcome: Outcome
      /** Absent if another handler kept the agent from starting. */
      readonly durationMs?: number
      readonly usage: Usage
      readonly error?: LogError
      readonly text?: string
    }
  | {
      readonly event: 'model-call'
      readonly step: string
      readonly status: 'complete' | 'failed' | 'cancelled'
      readonly durationMs: number
      readonly model?: string
      readonly usage?: Usage
      readonly finishReason?: FinishReason
      /** Retries and failovers. */
      readonly restarts: number
      readonly error?: LogError
      readonly text?: string
    }
  | {
      readonly event: 'tool-call'
      readonly step: string
      readonly callId: string
      readonly tool: string
      readonly status: 'complete' | 'failed' | 'cancelled' | 'interrupted'
      /** Of all attempts, with the pauses between them. */
      readonly durationMs: number
      /** How often the tool was called, if more than once. */
      readonly attempts?: number
      readonly error?: LogError
      readonly arguments?: string
      readonly result?: string
    }

/** One line of the log, plain JSON; `input`, `text`, `arguments` and `result` are written with `content` only. */
export type LogLine = {
  readonly level: LogLevel
  /** Milliseconds since 1970, by the clock of the run. */
  readonly time: number
  readonly runId: string
  readonly threadId: string
  readonly agentName: string
  /** The trace, and the span in it that the line belongs to. */
  readonly traceId?: string
  readonly spanId?: string
} & LogFields

/** Makes the log fields of an error; the message only with `content`. */
export function logError(error: unknown, content: boolean): LogError {
  const { code, message, retryable, details } = KernelError.from(error)
  const { handler, hook } = details
  return {
    code,
    ...(retryable && { retryable }),
    ...(typeof handler === 'string' && { handler }),
    ...(typeof hook === 'string' && { hook }),
    ...(content && { message }),
  }
}
