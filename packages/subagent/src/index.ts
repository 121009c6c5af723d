export type { AgentLimits } from './define/agent-limits.ts'
export type { AgentDefinition, AgentOptions } from './define/define-agent.ts'
export { COMPLETE_TASK, defineAgent, INVOKE_AGENT } from './define/define-agent.ts'
export type { AgentInputForm, AgentInputs, InputConfig, InputParameter, InputType } from './define/input-config.ts'
export { convertInputConfigToJsonSchema } from './define/input-config.ts'
export type { ToolSelection } from './define/tool-selection.ts'
export { AgentExecutor, subagentTool } from './execute/agent-executor.ts'
export { pauseLimits } from './execute/budget.ts'
export { COMPLETION_INSTRUCTION } from './execute/completion-tool.ts'
export type { AgentIdentity, GuardedNames, SubagentEnvironment, ToolGuard } from './execute/environment.ts'
export type { SubagentInvocation } from './execute/subagent-invocation.ts'
export type { SubagentReason, SubagentStatus } from './execute/subagent-status.ts'
export type { SubagentTool } from './execute/subagent-tool.ts'
export type { ArgMatcher, ArgTest } from './policy/arg-matcher.ts'
export type {
  AuditEvent,
  AuditStamp,
  CallDecided,
  CallFinished,
  CallRequested,
  DecidedBy,
} from './policy/audit-event.ts'
export type {
  AlwaysAnswer,
  ApprovalListener,
  ApprovalRequest,
  Bus,
  BusHandle,
  BusListener,
  BusMessage,
  BusMessages,
  BusOptions,
} from './policy/bus.ts'
export { createBus } from './policy/create-bus.ts'
export type { Decision, PolicyCall } from './policy/decide.ts'
export { decide } from './policy/decide.ts'
export type { Policy, PolicyOptions } from './policy/policy.ts'
export { createPolicy } from './policy/policy.ts'
export type { PolicyEffect, PolicyRule } from './policy/rule.ts'
export type { AgentOverride } from './registry/agent-override.ts'
export type { AgentRegistryOptions, LoadedAgents } from './registry/agent-registry.ts'
export { AgentRegistry } from './registry/agent-registry.ts'
