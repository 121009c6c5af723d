import type { AssistantMessage, ModelPart, Part } from '@troupe/kernel'

/** The parts of an answer that was given before. Contract: without `finish`. */
export function partsOf({ content, toolCalls = [] }: AssistantMessage): readonly ModelPart[] {
  const said: readonly Part[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const parts: ModelPart[] = []
  for (const part of said) {
    if (part.type === 'file') {
      parts.push({ type: 'file', file: part })
      continue
    }
    const { metadata } = part
    const encrypted = part.type === 'reasoning' ? part.encrypted : undefined
    parts.push({ type: `${part.type}-delta`, delta: part.text })
    parts.push({ type: 'part-end', ...(metadata && { metadata }), ...(encrypted !== undefined && { encrypted }) })
  }
  for (const { id: callId, name, arguments: delta, metadata } of toolCalls) {
    parts.push({ type: 'tool-call-start', callId, name })
    parts.push({ type: 'tool-call-delta', callId, delta })
    parts.push({ type: 'tool-call-end', callId, ...(metadata && { metadata }) })
  }
  return parts
}
