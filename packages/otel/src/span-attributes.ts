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
export function modelStart(
  { agentName, runId, session }: RunInfo,
  { options }: ModelRequest,
  metrics: Attributes,
): Attributes {
  const { temperature, maxOutputTokens, stopSequences } = options
  const attributes: Attributes = {
    [ATTR.operation]: OPERATION.model,
    [ATTR.provider]: metrics[ATTR.provider],
    [ATTR.requestModel]: metrics[ATTR.requestModel],
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

const NAME_OF = { run: ATTR.workflow, agent: ATTR.agent, tool: ATTR.tool, model: ATTR.requestModel } as const

/** The attributes of what is measured. Contract: few values each, so neither ids nor threads. */
export function metricsOf({ component, name }: RunInfo): Attributes {
  return { [ATTR.operation]: OPERATION[component], [NAME_OF[component]]: name }
}

/** The attributes of what is measured of model calls. */
export function modelMetrics({ name }: RunInfo): Attributes {
  const { provider, model } = modelNameOf(name)
  return { [ATTR.operation]: OPERATION.model, [ATTR.provider]: provider, [ATTR.requestModel]: model }
}

/** The tokens of a model call. */
export function usageAttributes(usage: ModelResult['usage']): Attributes {
  const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens, cacheWriteTokens, cost } = usage
  const attributes: Attributes = { [ATTR.inputTokens]: inputTokens, [ATTR.outputTokens]: outputTokens }
  if (reasoningTokens !== undefined) attributes[ATTR.reasoningTokens] = reasoningTokens
  if (cachedInputTokens !== undefined) attributes[ATTR.cacheReadTokens] = cachedInputTokens
  if (cacheWriteTokens !== undefined) attributes[ATTR.cacheWriteTokens] = cacheWriteTokens
  if (cost !== undefined) attributes[ATTR.cost] = cost
  return attributes
}
