import type { AgentDefinition } from './define/define-agent.ts'
import type { SubagentEnvironment } from './execute/environment.ts'
import { AgentExecutor } from './execute/executor.ts'
import { SubagentTool } from './execute/subagent-tool.ts'

/**
 * Makes a tool of an agent.
 * @example chatModelAgent({ name: 'lead', model, tools: [subagentTool(investigator, { factory: chatModelAgent, model })] })
 */
export function subagentTool<Inputs, Output>(
  definition: AgentDefinition<Inputs, Output>,
  environment: SubagentEnvironment,
): SubagentTool<Inputs, Output> {
  return new SubagentTool(new AgentExecutor(definition, environment))
}
