import { type ErrorInfo, type FinishReason, KernelError, type Outcome, type Usage } from '@troupe/kernel'

/** How much a line matters: `warn` is a tool that failed, `error` a model call, a hook or a run. */
export type LogLevel = 'info' | 'warn' | 'error'

/** What went wrong; its words may quote a message, so they come with `content` only. */
export type LogError = {
  readonly code: ErrorInfo['code']
  readonly retryable?: boolean
  /** Of a `HANDLER_FAILED`. */
  readonly handler?: string
  readonly hook?: string
  readonly message?: string
}

/** What a line says beyond who says it. */
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
      readonly durationMs: number
      readonly error?: LogError
      readonly arguments?: string
      readonly result?: string
    }

/** One line, plain JSON; `input`, `text`, `arguments` and `result` come with `content` only. */
export type LogLine = {
  readonly level: LogLevel
  /** Milliseconds since 1970, by the clock of the run. */
  readonly time: number
  readonly runId: string
  readonly threadId: string
  readonly agentName: string
} & LogFields

/** What a log may know of an error. */
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
