import type { RunAgentInput } from '@ag-ui/core'
import { type ContextKey, contextKey } from '@troupe/kernel'

/**
 * The request that a run serves, for tools and handlers.
 * @example ctx.get(AG_UI_INPUT)?.forwardedProps
 */
export const AG_UI_INPUT: ContextKey<RunAgentInput> = contextKey<RunAgentInput>('ag-ui-input')
