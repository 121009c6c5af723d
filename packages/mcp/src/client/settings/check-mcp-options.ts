import { checkOption, checkOptionNames, type OptionNames } from '@troupe/kernel/kit'
import type { McpAuth } from './mcp-auth.ts'
import { isCommand, type McpCommand, type McpServer, type McpUrl } from './mcp-server.ts'
import type { McpToolsOptions } from './mcp-tools-options.ts'

const WHO = 'mcpTools'
const OPTIONS: OptionNames<McpToolsOptions> = {
  servers: true,
  client: true,
  tokens: true,
  sampling: true,
  report: true,
}
const SETTINGS = {
  prefix: true,
  allow: true,
  exclude: true,
  trusted: true,
  needsApproval: true,
  resources: true,
  prompts: true,
  instructions: true,
  timeoutMs: true,
  connectTimeoutMs: true,
  maxMessageBytes: true,
  maxTools: true,
} as const
const COMMAND: OptionNames<McpCommand> = { ...SETTINGS, command: true, args: true, env: true, inherit: true, cwd: true }
const URL_NAMES: OptionNames<McpUrl> = { ...SETTINGS, url: true, headers: true, auth: true, fetch: true }
const AUTH: OptionNames<McpAuth> = {
  redirectUrl: true,
  clientName: true,
  client: true,
  clientMetadataUrl: true,
  scope: true,
}

/** Contract: throws `CONFIG_INVALID`. */
export function checkMcpOptions(options: McpToolsOptions): void {
  checkOptionNames(WHO, options, OPTIONS, { mcpServers: 'servers' })
  const { servers, client, tokens, report, sampling } = options
  checkOption(isPlain(servers), WHO, 'servers must be an object of servers by name', servers)
  checkOption(client === undefined || isPlain(client), WHO, 'client must be { name, version }', client)
  checkOption(tokens === undefined || isPlain(tokens), WHO, 'tokens must be an McpTokenStore', tokens)
  checkOption(report === undefined || typeof report === 'function', WHO, 'report must be a function', report)
  checkOption(sampling === undefined || isPlain(sampling), WHO, 'sampling must be an agent', sampling)
  for (const [name, server] of Object.entries(servers)) checkServer(name, server)
}

function checkServer(name: string, server: McpServer): void {
  const who = `${WHO} server ${name}`
  checkOption(isPlain(server), who, 'expected { command } or { url }', server)
  if (isCommand(server)) checkCommand(who, server)
  else checkUrl(who, server)
  const { prefix, allow, exclude, needsApproval } = server
  checkOption(prefix === undefined || typeof prefix === 'string', who, 'prefix must be text', prefix)
  for (const [option, list] of Object.entries({ allow, exclude }))
    checkOption(list === undefined || isTexts(list), who, `${option} must be a list of tool names`, list)
  checkOption(
    ['undefined', 'boolean', 'function'].includes(typeof needsApproval),
    who,
    'needsApproval must be true, false or a function',
    needsApproval,
  )
  for (const option of ['trusted', 'resources', 'prompts', 'instructions'] as const)
    checkOption(
      ['undefined', 'boolean'].includes(typeof server[option]),
      who,
      `${option} must be true or false`,
      server[option],
    )
  for (const option of ['timeoutMs', 'connectTimeoutMs', 'maxMessageBytes', 'maxTools'] as const) {
    const value = server[option]
    checkOption(value === undefined || value > 0, who, `${option} must be a positive number`, value)
  }
}

function checkCommand(who: string, server: McpCommand): void {
  checkOptionNames(who, server, COMMAND)
  const { command, args, env, inherit } = server
  checkOption(typeof command === 'string' && command !== '', who, 'command must be text', command)
  checkOption(args === undefined || isTexts(args), who, 'args must be a list of texts', args)
  checkOption(inherit === undefined || isTexts(inherit), who, 'inherit must be a list of names of variables', inherit)
  checkOption(env === undefined || isTexts(Object.values(env)), who, 'env must be texts by name', env)
}

function checkUrl(who: string, server: McpUrl): void {
  checkOptionNames(who, server, URL_NAMES)
  const { url, auth } = server
  const isHttp = URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol)
  checkOption(isHttp, who, 'url must be an address that begins with http:// or https://', url)
  if (!auth) return
  checkOptionNames(`${who} auth`, auth, AUTH)
  checkOption(URL.canParse(auth.redirectUrl), `${who} auth`, 'redirectUrl must be an address', auth.redirectUrl)
}

function isPlain(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTexts(list: unknown): boolean {
  return Array.isArray(list) && list.every((each) => typeof each === 'string')
}
