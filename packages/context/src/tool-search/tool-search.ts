import {
  type AgentHandler,
  contextKey,
  defineTool,
  type Json,
  type ModelRequest,
  type RunContext,
  type Tool,
  type ToolMeta,
  type ToolSpec,
} from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { READ_HISTORY } from '../compaction/read-history-tool.ts'
import { READ_RESULT } from '../offload/read-result-tool.ts'
import { ToolIndex } from './tool-index.ts'

/** Options of `toolSearch`. */
export interface ToolSearchOptions {
  /** Names of tools that the model always sees. @default [] */
  readonly always?: readonly string[]
  /** How many tools one search loads at most. @default 5 */
  readonly limit?: number
  /** An agent with fewer tools shows them all. @default 20 */
  readonly from?: number
}

const WHO = 'toolSearch'
const SEARCH = 'search_tools'
const NAMES = { always: true, limit: true, from: true } as const

/** The tools of a run that have to be searched for, by name; undefined if there are too few. */
const SEARCHED = contextKey<ReadonlyMap<string, Tool>>('context.searchedTools')

/**
 * Shows the model `search_tools` in the place of the agent's tools, and those that it has found.
 * Contract: what is found is loaded to the end of the list and stays, for the runs that follow too, so that requests begin alike; tools of kind `think`, `read_result` and `read_history` are always shown. Place it after the handlers that add other tools.
 * @example chatModelAgent({ name: 'guide', model, tools: [weather], handlers: [toolSearch({ always: ['get_time'] })] })
 */
export function toolSearch(options: ToolSearchOptions = {}): AgentHandler {
  checkOptionNames(WHO, options, NAMES, { keep: 'always', max: 'limit', threshold: 'from' })
  const { always = [], limit = 5, from = 20 } = options
  checkOption(Array.isArray(always), WHO, 'always must be a list of names', always)
  checkOption(Number.isInteger(limit) && limit >= 1, WHO, 'limit must be a whole number from 1 on', limit)
  checkOption(Number.isInteger(from) && from >= 1, WHO, 'from must be a whole number from 1 on', from)
  // A note in the history names the tools that read, so the model must see them.
  const shown = new Set([...always, READ_RESULT, READ_HISTORY])
  const search: ToolMeta = { tool: searchTool(limit), returnDirectly: false }
  const lists = new RequestLists()

  return {
    name: WHO,
    beforeAgent(ctx, config) {
      const searched = config.tools
        .map(({ tool }) => tool)
        .filter(({ name, kind }) => kind !== 'think' && !shown.has(name))
      if (searched.length < from) return
      config.tools.push(search)
      return ctx.with(SEARCHED, new Map(searched.map((tool) => [tool.name, tool])))
    },
    wrapModelCall(ctx, request, next) {
      const searched = ctx.get(SEARCHED)
      if (!searched) return next(ctx, request)
      return next(ctx, { ...request, tools: lists.of(request, searched, loadedNames(ctx)) })
    },
  }
}

/** The key of the state for the tools that an agent has loaded, in the order in which it has. */
function keyOf({ agentName }: RunContext): string {
  return `context:tools:${agentName}`
}

/** Contract: clients may write the state, so anything but a list of names counts as none. */
function loadedNames(ctx: RunContext): readonly string[] {
  const value = ctx.state.get(keyOf(ctx))
  return Array.isArray(value) && value.every((name) => typeof name === 'string') ? value : NONE
}

const NONE: readonly string[] = []

function searchTool(limit: number): Tool {
  // Of the tools that were searched last: they are the same in most runs.
  let index: ToolIndex | undefined
  return defineTool({
    name: SEARCH,
    description:
      'Finds and loads tools. You have more tools than you see: before you say that you cannot do something, search for a tool with a few words about what it does. The tools that are found can be called from your next turn on.',
    parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    kind: 'think',
    effect: 'idempotent',
    async invoke({ query }, ctx) {
      const tools = [...(ctx.get(SEARCHED)?.values() ?? [])]
      if (!index?.isOf(tools)) index = new ToolIndex(tools)
      const found = index.search(query, limit)
      if (found.length === 0) return `No tool matches ${JSON.stringify(query)}. Try other words.`
      const loaded = loadedNames(ctx)
      const added = found.map(({ name }) => name).filter((name) => !loaded.includes(name))
      if (added.length > 0) {
        ctx.state.set(keyOf(ctx), [...loaded, ...added] as Json)
        await ctx.emit('tools-loaded', { query, names: added })
      }
      return found.map(({ name, description }) => `${name}: ${firstLine(description)}`).join('\n')
    },
  }) as Tool
}

function firstLine(text: string): string {
  const [line = ''] = text.trim().split('\n', 1)
  return line.length > 200 ? `${line.slice(0, 200)}…` : line
}

/** The tools of requests. Contract: those that are always shown in their order, then the loaded ones in theirs; the same list for the same request. */
class RequestLists {
  readonly #lists = new WeakMap<
    readonly ToolSpec[],
    { readonly names: readonly string[]; readonly list: readonly ToolSpec[] }
  >()

  of(
    { tools, options }: ModelRequest,
    searched: ReadonlyMap<string, Tool>,
    loaded: readonly string[],
  ): readonly ToolSpec[] {
    const { toolChoice } = options
    const chosen = typeof toolChoice === 'object' && !loaded.includes(toolChoice.tool) ? toolChoice.tool : undefined
    const names = chosen === undefined ? loaded : [...loaded, chosen]
    const known = this.#lists.get(tools)
    if (known?.names === names) return known.list
    const byName = new Map(tools.map((tool) => [tool.name, tool]))
    const found = names.filter((name) => searched.has(name)).flatMap((name) => byName.get(name) ?? [])
    const list = [...tools.filter(({ name }) => !searched.has(name)), ...found]
    this.#lists.set(tools, { names, list })
    return list
  }
}
