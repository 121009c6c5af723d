import type { Json, JsonObject } from '@troupe/kernel'
import { type InputLimits, parseRunAgentInput } from '../input/parse-run-agent-input.ts'
import type { RunAgentInput } from '../protocol.ts'
import { isJsonObject } from '../translate/json-patch.ts'

/** What a request leaves for whoever continues its run: everything but its messages and its state, which are in the thread. */
export function carriedInput({ messages: _1, state: _2, ...input }: RunAgentInput): Json {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as JsonObject
}

/** The request of a run that is continued. Contract: without messages, and with the state of its thread; a run that came from elsewhere carries nothing of a request. */
export function restoredInput(
  carried: Json | undefined,
  run: Pick<RunAgentInput, 'threadId' | 'runId' | 'state'>,
  limits: InputLimits | undefined,
): RunAgentInput {
  const request = isJsonObject(carried) && carried.runId === run.runId ? carried : {}
  const { state, ...ids } = run
  const input = parseRunAgentInput({ tools: [], context: [], ...request, ...ids, messages: [] }, limits)
  return { ...input, state }
}
