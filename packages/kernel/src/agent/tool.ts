import type { RunContext } from '../context/context.ts'
import { type Awaitable, isPromise, type Json } from '../data/json.ts'
import { type ErrorInfo, got, isObject, KernelError } from '../data/kernel-error.ts'
import type { Content, Part } from '../data/message.ts'
import { checkOptionNames, type OptionNames } from '../data/option.ts'
import { type Infer, type JsonSchemaValidator, type Schema, toJsonSchema, validate } from '../data/schema.ts'

/** The kind of effect a tool has on its environment; policy rules use it. */
export type ToolKind = 'read' | 'write' | 'execute' | 'think'
/** The effect of a repeated call; caches and durable engines use it. `nested`: its effects are the steps of the runs inside it. */
export type ToolEffect = 'pure' | 'idempotent' | 'once' | 'nested'

/** A tool that a model can call. Contract: has `invoke`, `stream` or both, unless `longRunning`. */
export interface Tool<Args = unknown> {
  readonly name: string
  /** @default name */
  readonly displayName?: string
  readonly description: string
  readonly parameters: Schema
  readonly kind: ToolKind
  /** @default 'text' */
  readonly output?: 'text' | 'markdown'
  /** @default 'once' */
  readonly effect?: ToolEffect
  /** The result comes from outside, later. Contract: the call stays open and ends the turn; `invoke`, if there, starts the work and its value is ignored. */
  readonly longRunning?: boolean
  /** Whether the model or the run gets a thrown error. @default 'feedback' */
  readonly onError?: 'feedback' | 'throw'
  /** Contract: asked for every call of the turn before any of them starts; true raises an interrupt of reason `approval`. */
  needsApproval?(args: Args, ctx: RunContext): Awaitable<boolean>
  /** Contract: `args` are validated; throwing is a tool failure, not a run failure; `toolResult` reads the returned value. */
  invoke?(args: Args, ctx: RunContext, call: ToolCallInput): Awaitable<ToolOutput | void>
  /** Contract: chunks are shown as they come; without a returned result their text is the result. */
  stream?(args: Args, ctx: RunContext, call: ToolCallInput): AsyncIterable<string | Part, ToolOutput | void>
}

/** The values that a tool may return: text for the model, any JSON value, or a whole result. Contract: text stays text; any other value is given to the model as JSON and to programs as `data`; an object that has `content` and nothing but properties of a result is one. */
export type ToolOutput = string | number | boolean | null | object

/** The result of a call. */
export type ToolCallResult = {
  /** Shown to the model. */
  readonly content: Content
  /** Shown to a person. @default content */
  readonly display?: string
  /** Data for programs. */
  readonly data?: Json
  readonly error?: ErrorInfo
  /** Overrides `ToolMeta.returnDirectly` for this call. */
  readonly direct?: boolean
}

/** A tool as one agent uses it. */
export interface ToolMeta {
  readonly tool: Tool
  readonly returnDirectly: boolean
}

/** One call on its way through the wraps. Contract: JSON but for `tool`. */
export interface ToolCallInput {
  readonly name: string
  readonly arguments: string
  readonly callId: string
  /** From `RunOptions.tools[name]`. */
  readonly callOptions?: Json
  /** Its position in the run, the whole path: `tool:<turn>:<index>` under the step of the agent. */
  readonly step: string
  /** Contract: the same at every attempt, also after a resume in a run of another id. */
  readonly idempotencyKey: string
  /** Absent for an unknown name. */
  readonly tool?: Tool
}

/** A call that shows its output as it comes. Contract: `result` settles when `stream` has ended or was left; it rejects only on abort, interrupt and handler errors. */
export interface StreamToolCallResult {
  readonly stream: AsyncIterable<string | Part>
  readonly result: Promise<ToolCallResult>
}
/** The rest of the invokable onion. */
export type InvokeTool = (ctx: RunContext, input: ToolCallInput) => Promise<ToolCallResult>
/** The rest of the streamable onion. */
export type StreamTool = (ctx: RunContext, input: ToolCallInput) => Promise<StreamToolCallResult>
/** The argument of `defineTool`: a Tool whose argument types come from its schema. */
export type ToolDefinition<S extends Schema> = Omit<Tool<Infer<S>>, 'parameters' | 'kind'> & {
  readonly parameters: S
  readonly kind?: ToolKind
}

const KINDS: readonly unknown[] = ['read', 'write', 'execute', 'think'] satisfies ToolKind[]
const EFFECTS: readonly unknown[] = [undefined, 'pure', 'idempotent', 'once', 'nested'] satisfies (
  | ToolEffect
  | undefined
)[]

const ON_ERROR: readonly unknown[] = [undefined, 'feedback', 'throw'] satisfies Tool['onError'][]
const OUTPUTS: readonly unknown[] = [undefined, 'text', 'markdown'] satisfies Tool['output'][]

const NAMES: OptionNames<ToolDefinition<Schema>> = {
  name: true,
  displayName: true,
  description: true,
  parameters: true,
  kind: true,
  output: true,
  effect: true,
  longRunning: true,
  onError: true,
  needsApproval: true,
  invoke: true,
  stream: true,
}
const ALIASES = {
  execute: 'invoke',
  func: 'invoke',
  handler: 'invoke',
  run: 'invoke',
  inputSchema: 'parameters',
  schema: 'parameters',
  title: 'displayName',
} as const

/**
 * Defines a tool.
 * Contract: validates the definition (`CONFIG_INVALID`, `SCHEMA_INVALID`); `kind` defaults to `execute`.
 * @example
 * const weather = defineTool({
 *   name: 'get_weather',
 *   description: 'The weather in a city.',
 *   parameters: z.object({ city: z.string() }),
 *   kind: 'read',
 *   invoke: ({ city }) => `Sunny in ${city}.`,
 * })
 */
export function defineTool<const S extends Schema>(definition: ToolDefinition<S>): Tool<Infer<S>> {
  const tool = { kind: 'execute' as const, ...definition }
  const who = definition?.name ? `tool ${definition.name}` : 'defineTool'
  checkOptionNames<ToolDefinition<Schema>>(who, definition, NAMES, ALIASES)
  checkTool(tool)
  return tool
}

/** Contract: throws `CONFIG_INVALID` or `SCHEMA_INVALID` for a value that is not a tool; for a tool of another framework the message names `defineTool`. */
export function checkTool(tool: Tool<never>): void {
  checkFramework(tool)
  if (!isObject(tool) || typeof tool.name !== 'string' || tool.name === '') {
    throw new KernelError('CONFIG_INVALID', `tool: expected a name, ${got(isObject(tool) ? tool.name : tool)}`)
  }
  const wrong = (message: string) => new KernelError('CONFIG_INVALID', `tool ${tool.name}: ${message}`)
  const { description, kind, effect, invoke, stream, needsApproval, onError, output, longRunning } = tool
  if (typeof description !== 'string') throw wrong(`expected a description, ${got(description)}`)
  if (!KINDS.includes(kind)) throw wrong(`kind must be one of ${KINDS.join(', ')}, ${got(kind)}`)
  if (!EFFECTS.includes(effect)) throw wrong(`effect must be one of ${EFFECTS.slice(1).join(', ')}, ${got(effect)}`)
  for (const body of [invoke, stream]) {
    if (body !== undefined && typeof body !== 'function') throw wrong(`invoke and stream are functions, ${got(body)}`)
  }
  if (needsApproval !== undefined && typeof needsApproval !== 'function') {
    throw wrong(`needsApproval must be a function like () => true, ${got(needsApproval)}`)
  }
  if (!ON_ERROR.includes(onError)) throw wrong(`onError must be feedback or throw, ${got(onError)}`)
  if (!OUTPUTS.includes(output)) throw wrong(`output must be text or markdown, ${got(output)}`)
  if (longRunning !== undefined && typeof longRunning !== 'boolean') {
    throw wrong(`longRunning must be true or false, ${got(longRunning)}`)
  }
  if (!invoke && !stream && !longRunning) throw wrong('expected invoke, stream or longRunning, got none of them')
  let type: unknown
  try {
    type = toJsonSchema(tool.parameters).type
  } catch (cause) {
    throw new KernelError('SCHEMA_INVALID', `tool ${tool.name}: ${KernelError.from(cause).message}`, { cause })
  }
  if (type !== 'object') {
    throw new KernelError('SCHEMA_INVALID', `tool ${tool.name}: parameters must describe an object, ${got(type)}`)
  }
}

const FOREIGN = ['execute', 'inputSchema', 'lc_namespace', 'func', 'schema', 'function', 'input_schema']

/** Contract: throws `CONFIG_INVALID` for a tool of another framework. */
function checkFramework(tool: unknown): void {
  if (!isObject(tool) || (tool.parameters !== undefined && tool.execute === undefined) || tool.kind !== undefined)
    return
  const signs = FOREIGN.filter((name) => tool[name] !== undefined)
  if (signs.length === 0) return
  const who = typeof tool.name === 'string' && tool.name !== '' ? `tool ${tool.name}` : 'tool'
  throw new KernelError(
    'CONFIG_INVALID',
    `${who}: is a tool of another framework (it has ${signs.join(', ')}); make one of it: defineTool({ name, description, parameters, invoke })`,
  )
}

/**
 * The tools of one agent, each with its options.
 * Contract: throws `CONFIG_INVALID` for a value that is not a tool and for a name that occurs twice.
 * @example toolMetas([weather, { tool: finalAnswer, returnDirectly: true }])
 */
export function toolMetas(tools: readonly (Tool | ToolMeta)[]): ToolMeta[] {
  const list: unknown = tools
  if (!Array.isArray(list)) throw new KernelError('CONFIG_INVALID', `tools: expected a list, ${got(tools)}`)
  const metas = tools.map((entry): ToolMeta => {
    const meta =
      isObject(entry) && 'tool' in entry ? (entry as ToolMeta) : { tool: entry as Tool, returnDirectly: false }
    if (meta === entry) checkOptionNames('tools', meta, { tool: true, returnDirectly: true })
    checkTool(meta.tool)
    return meta
  })
  checkNames(metas)
  return metas
}

/** Contract: throws `CONFIG_INVALID` for a name that occurs twice. */
export function checkNames(tools: readonly ToolMeta[]): void {
  const names = new Set<unknown>()
  for (const meta of tools) {
    const name = meta?.tool?.name
    if (name === undefined)
      throw new KernelError('CONFIG_INVALID', `tools: expected { tool, returnDirectly }, ${got(meta)}`)
    if (names.has(name)) throw new KernelError('CONFIG_INVALID', `tools: names must be unique, ${got(name)} twice`)
    names.add(name)
  }
}

/**
 * Parses and validates the text a model wrote; no text at all counts as `{}`.
 * Contract: rejects with `VALIDATION_FAILED`; returns no promise where nothing has to be awaited; called innermost, after the wraps.
 * @example const args = await parseArguments(tool, call.arguments, validator)
 */
export function parseArguments(tool: Tool, text: string, validator: JsonSchemaValidator): Awaitable<unknown> {
  let value: unknown
  try {
    value = text.trim() === '' ? {} : JSON.parse(text)
  } catch (cause) {
    const message = `tool ${tool.name}: arguments are not valid JSON, ${KernelError.from(cause).message}`
    const details = { issues: [{ path: '', message }] }
    return Promise.reject(new KernelError('VALIDATION_FAILED', message, { cause, details }))
  }
  try {
    const args = validate(tool.parameters, value, validator)
    return isPromise(args) ? args.then(undefined, (cause) => Promise.reject(notValid(tool, cause))) : args
  } catch (cause) {
    return Promise.reject(notValid(tool, cause))
  }
}

function notValid({ name }: Tool, cause: unknown): KernelError {
  const { code, message, details } = KernelError.from(cause, 'VALIDATION_FAILED')
  return new KernelError(code, `tool ${name}: arguments are not valid, ${message}`, { cause, details })
}
