import type { ToolAnnotations } from '@modelcontextprotocol/server'
import type { Agent, Json, JsonObject, JsonSchema, Runner, Schema, Tool } from '@troupe/kernel'
import { checkOption, toJsonSchema } from '@troupe/kernel/kit'
import { toolAgent } from './tool-agent.ts'

/** A tool as clients see it, and the runner that carries it out. */
export interface OfferedTool {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  readonly annotations?: ToolAnnotations
  readonly runner: Runner
  /** An agent has conversations, which are kept; the thread of a tool is its one call. */
  readonly kind: 'agent' | 'tool'
  /** Whether a call that broke off may be made again: a runner knows what an agent has done, and a tool says so. */
  readonly repeatable: boolean
}

/** Makes the runner of an agent. */
export type RunnerOf = (agent: Agent) => Runner

const NAME = /^[\w.-]{1,128}$/
const AGENT_INPUT: JsonSchema = {
  type: 'object',
  properties: {
    message: { type: 'string', description: 'What to say to the agent.' },
    thread: { type: 'string', description: 'The id of a conversation to go on with. Leave it out to begin a new one.' },
  },
  required: ['message'],
}

/** An agent as a tool. Contract: throws `CONFIG_INVALID` for a name that clients do not accept. */
export function offeredAgent(who: string, runner: Runner, output: Schema | undefined): OfferedTool {
  const { name, description } = runner.agent
  checkName(who, name)
  return {
    name,
    description: description || `Talks to the agent ${name}.`,
    inputSchema: AGENT_INPUT,
    ...(output && { outputSchema: toJsonSchema(output) }),
    runner,
    kind: 'agent',
    repeatable: true,
  }
}

/** A tool as it is. */
export function offeredTool(who: string, tool: Tool, runnerOf: RunnerOf, maxChars: number): OfferedTool {
  const { name, displayName, description } = tool
  checkName(who, name)
  return {
    name,
    ...(displayName !== undefined && { title: displayName }),
    description,
    inputSchema: toJsonSchema(tool.parameters),
    annotations: annotationsOf(tool),
    runner: runnerOf(toolAgent(who, tool, maxChars)),
    kind: 'tool',
    repeatable: tool.effect === 'pure' || tool.effect === 'idempotent',
  }
}

function annotationsOf({ kind, effect = 'once' }: Tool): ToolAnnotations {
  const readOnlyHint = kind === 'read' || kind === 'think'
  return { readOnlyHint, ...(!readOnlyHint && { idempotentHint: effect !== 'once' }) }
}

function checkName(who: string, name: string): void {
  checkOption(NAME.test(name), who, 'a name that clients see has letters, digits, _, - and ., at most 128', name)
}

/** What a client has given to a tool, as the message of a run. Contract: undefined for what cannot be one. */
export function messageFor({ kind }: OfferedTool, args: JsonObject): string | undefined {
  if (kind === 'tool') return textOfArguments(args)
  const message: Json | undefined = args.message
  return typeof message === 'string' && message !== '' ? message : undefined
}

/** Contract: undefined for arguments so deep that nothing can write them. */
function textOfArguments(args: JsonObject): string | undefined {
  try {
    return JSON.stringify(args)
  } catch {
    return undefined
  }
}
