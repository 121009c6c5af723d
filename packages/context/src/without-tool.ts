import type { ModelRequest, ToolSpec } from '@troupe/kernel'

/** A list without one tool, made once for the requests of a run. */
const LISTS = new WeakMap<readonly ToolSpec[], Map<string, readonly ToolSpec[]>>()

/** A request without one of its tools, which the agent has but has no use for yet. */
export function withoutTool(request: ModelRequest, name: string): ModelRequest {
  const { tools } = request
  const lists = LISTS.get(tools) ?? new Map<string, readonly ToolSpec[]>()
  let list = lists.get(name)
  if (!list) {
    list = tools.filter((tool) => tool.name !== name)
    lists.set(name, list)
    LISTS.set(tools, lists)
  }
  return { ...request, tools: list }
}
