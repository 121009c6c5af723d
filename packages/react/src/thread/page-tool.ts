import type { Tool } from '@ag-ui/client'
import { objectIn } from '../request/object-in.ts'

/** A tool that runs on the page. */
export interface PageTool {
  readonly description: string
  /** The arguments as JSON Schema. @default none */
  readonly parameters?: object
  /**
   * Runs the tool. Contract: a text is the result as it is, any other value as JSON; what it throws is told to the model as an error. `signal` aborts when
   * the user stops the run.
   */
  readonly run: (args: Record<string, unknown>, options: { readonly signal: AbortSignal }) => unknown
}

/** The tools of a page, by name. */
export type PageTools = Readonly<Record<string, PageTool>>

/** The result of a call on the page. */
export interface PageResult {
  readonly content: string
  readonly error?: string
}

/** The tools as agents see them. */
export function declared(tools: PageTools): Tool[] {
  return Object.entries(tools).map(([name, { description, parameters = { type: 'object' } }]) => ({
    name,
    description,
    parameters,
  }))
}

/** Runs a tool of the page. Contract: never throws. */
export async function runPageTool(tool: PageTool | undefined, args: string, signal: AbortSignal): Promise<PageResult> {
  try {
    const given: unknown = await untilAborted(Promise.resolve(tool?.run(objectIn(args || '{}'), { signal })), signal)
    return { content: typeof given === 'string' ? given : (JSON.stringify(given) ?? '') }
  } catch (error) {
    const message = signal.aborted ? 'The user stopped this.' : error instanceof Error ? error.message : String(error)
    return { content: message, error: message }
  }
}

function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop)
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** Does something unless another page of this browser is doing it. Contract: false if another one is. */
export async function unlessElsewhere(name: string, action: () => Promise<void>): Promise<boolean> {
  const once = async () => {
    await action()
    return true
  }
  const locks = typeof navigator === 'undefined' ? undefined : navigator.locks
  if (!locks) return once()
  return locks.request(name, { ifAvailable: true }, async (lock) => lock !== null && (await once()))
}
