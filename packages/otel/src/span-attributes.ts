import type { Attributes } from '@opentelemetry/api'
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
export function modelStart({ name, agentName, runId, session }: RunInfo, { options }: ModelRequest): Attributes {
  const { temperature, maxOutputTokens, stopSequences } = options
  const { provider, model } = modelNameOf(name)
  const attributes: Attributes = {
    [ATTR.operation]: OPERATION.model,
    [ATTR.provider]: provider,
    [ATTR.requestModel]: model,
    [ATTR.agent]: agentName,
    [ATTR.conversation]: session.threadId,
    [ATTR.runId]: runId,
  }
  if (temperature !== undefined) attributes[ATTR.temperature] = temperature
  if (maxOutputTokens !== undefined) attributes[ATTR.maxTokens] = maxOutputTokens
  if (stopSequences) attributes[ATTR.stopSequences] = [...stopSequences]
  return attributes
}

/** The attributes that the span of a tool call begins with. */
export function toolStart({ name, agentName, runId, session }: RunInfo, { callId }: ToolCallInput): Attributes {
  return {
    [ATTR.operation]: OPERATION.tool,
    [ATTR.tool]: name,
    [ATTR.toolType]: 'function',
    [ATTR.toolCall]: callId,
    [ATTR.agent]: agentName,
    [ATTR.conversation]: session.threadId,
    [ATTR.runId]: runId,
  }
}

/** The tokens of a model call. */
export function usageAttributes(usage: ModelResult['usage']): Attributes {
  const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens, cacheWriteTokens } = usage
  const attributes: Attributes = { [ATTR.inputTokens]: inputTokens, [ATTR.outputTokens]: outputTokens }
  if (reasoningTokens !== undefined) attributes[ATTR.reasoningTokens] = reasoningTokens
  if (cachedInputTokens !== undefined) attributes[ATTR.cacheReadTokens] = cachedInputTokens
  if (cacheWriteTokens !== undefined) attributes[ATTR.cacheWriteTokens] = cacheWriteTokens
  return attributes
}
