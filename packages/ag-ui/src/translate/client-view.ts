import { EventType, type RunAgentInput } from '@ag-ui/core'
import type { ThreadRef } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { checkShow, type ShowOptions } from './show-options.ts'
import type { MessageOptions } from './to-ag-ui-messages.ts'

/** How clients see a thread and its runs. */
export interface ClientView {
  /** What they see besides what a run says and does. */
  readonly show?: ShowOptions
  /** What the model sees before the names of their tools. */
  readonly clientToolPrefix?: string
}

/** What an app says of how clients see their threads. */
interface ViewSettings {
  readonly show?: ShowOptions | ((input: RunAgentInput) => ShowOptions) | undefined
  readonly clientTools: { readonly prefix?: string }
}

/** How the client of a request sees its thread. Contract: throws `CONFIG_INVALID` for a `show` that clients could not read. */
export function clientView({ show: given, clientTools }: ViewSettings, input: RunAgentInput): ClientView {
  const { prefix: clientToolPrefix } = clientTools
  const show = typeof given === 'function' ? given(input) : given
  if (show && typeof given === 'function') checkShow('AgUiAgent', show)
  return { ...(show && { show }), ...(clientToolPrefix !== undefined && { clientToolPrefix }) }
}

/** How clients see a thread: as the request of a run whose first event is given, else as a request with nothing but the thread. */
export function viewOf(
  agent: { view?(input: RunAgentInput): ClientView },
  { threadId }: Pick<ThreadRef, 'threadId'>,
  started?: AgUiEvent,
): ClientView {
  const input = started?.type === EventType.RUN_STARTED ? started.input : undefined
  const bare = { threadId, runId: '', messages: [], tools: [], context: [], state: {}, forwardedProps: {} }
  return agent.view?.(input ?? bare) ?? {}
}

/** How stored messages are shown in a view. */
export function messageOptions({ show, clientToolPrefix }: ClientView): MessageOptions {
  const { omit } = show ?? {}
  return { ...(omit && { omit }), ...(clientToolPrefix !== undefined && { clientToolPrefix }) }
}
