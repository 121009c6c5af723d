import type { Attributes, Span } from '@opentelemetry/api'
import type { ModelRequest, ModelResult, RunInfo, ToolCallInput } from '@troupe/kernel'
import { ATTR, modelNameOf, OPERATION } from './conventions.ts'

/** The attributes that the span of a run begins with. */
export function runStart({ name, runId, session }: RunInfo): Attributes {
  return {
    [ATTR.operation]: OPERATION.run,
    [ATTR.workflow]: name,
    [ATTR.conversation]: session.threadId,
    [ATTR.runId]: runId,
  }
}

/** The attributes that the span of an agent begins with. */
export function agentStart({ name, runId, session }: RunInfo): Attributes {
  return {
    [ATTR.operation]: OPERATION.agent,
    [ATTR.agent]: name,
    [ATTR.conversation]: session.threadId,
    [ATTR.runId]: runId,
  }
}

/** The attributes that the span of a model call begins with. */
export function modelStart({ name }: RunInfo, { options }: ModelRequest): Attributes {
  const { temperature, maxOutputTokens, stopSequences } = options
  const { provider, model } = modelNameOf(name)
  const attributes: Attributes = {
    [ATTR.operation]: OPERATION.model,
    [ATTR.provider]: provider,
    [ATTR.requestModel]: model,
  }
  if (temperature !== undefined) attributes[ATTR.temperature] = temperature
  if (maxOutputTokens !== undefined) attributes[ATTR.maxTokens] = maxOutputTokens
  if (stopSequences) attributes[ATTR.stopSequences] = [...stopSequences]
  return attributes
}

/** The attributes that the span of a tool call begins with. */
export function toolStart({ name }: RunInfo, { callId }: ToolCallInput): Attributes {
  return {
    [ATTR.operation]: OPERATION.tool,
    [ATTR.tool]: name,
    [ATTR.toolType]: 'function',
    [ATTR.toolCall]: callId,
  }
}

/**
 * Sets whose call a span shows.
 * Contract: of calls only, and after the start: a sampler has decided about them at the root, and an SDK checks twice what a span begins with.
 */
export function setCaller(span: Span, { agentName, session, runId }: RunInfo): void {
  span.setAttribute(ATTR.agent, agentName)
  span.setAttribute(ATTR.conversation, session.threadId)
  span.setAttribute(ATTR.runId, runId)
}

/** Sets the tokens of a model call, and what they cost. */
export function setUsage(span: Span, usage: ModelResult['usage']): void {
  const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens, cacheWriteTokens, cost } = usage
  span.setAttribute(ATTR.inputTokens, inputTokens)
  span.setAttribute(ATTR.outputTokens, outputTokens)
  if (reasoningTokens !== undefined) span.setAttribute(ATTR.reasoningTokens, reasoningTokens)
  if (cachedInputTokens !== undefined) span.setAttribute(ATTR.cacheReadTokens, cachedInputTokens)
  if (cacheWriteTokens !== undefined) span.setAttribute(ATTR.cacheWriteTokens, cacheWriteTokens)
  if (cost !== undefined) span.setAttribute(ATTR.cost, cost)
}
