/** The addresses of the servers, which a process tells its parent when they listen. */
export interface FuzzServerMessage {
  readonly agUi: string
  readonly assistant: string
}

/** What a process with the servers says about itself. */
export interface Condition {
  /** Rejections that nobody handled. */
  readonly unhandled: readonly string[]
  /** Errors that were reported, which clients see as internal. */
  readonly reported: readonly string[]
  /** What somebody added to all objects. */
  readonly polluted: readonly string[]
  readonly heapMegabytes: number
}
