import type { ErrorInfo } from '@troupe/kernel'

/** Something about a server that an operator should know. */
export type McpReport =
  /** The server cannot be reached or does not speak the protocol; its tools are left out of this run. */
  | { readonly type: 'unavailable'; readonly server: string; readonly error: ErrorInfo }
  /** A tool is left out. */
  | { readonly type: 'tool-skipped'; readonly server: string; readonly tool: string; readonly reason: string }
  /** A known tool has another description, other arguments or other annotations than before. */
  | {
      readonly type: 'tool-changed'
      readonly server: string
      readonly tool: string
      readonly before: string
      readonly after: string
    }
