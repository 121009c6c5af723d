import type { RunAgentInput } from '@ag-ui/core'
import { KernelError, type Owner } from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'
import type { AgUiAgentOptions } from './agent-settings.ts'

/** The owner of a request, from the options of an embedded agent. Contract: throws `CONFIG_INVALID` if app or user is missing. */
export async function ownerOf(options: AgUiAgentOptions, input: RunAgentInput): Promise<Owner> {
  const { runner, appName, appNameExtractor, userId, userIdExtractor } = options
  const app = appNameExtractor ? await appNameExtractor(input) : (appName ?? runner?.agent.name)
  const user = userIdExtractor ? await userIdExtractor(input) : userId
  return { app: named('appName', app), user: named('userId', user) }
}

function named(what: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw new KernelError('CONFIG_INVALID', `AgUiAgent: expected ${what}, ${what}Extractor or an owner, ${got(value)}`)
}
