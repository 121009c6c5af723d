import { checkOption } from '@troupe/kernel/kit'

/**
 * The name of the Restate object that has the runs of an agent: `assistant@2` is `assistant.v2`.
 * Contract: `CONFIG_INVALID` for a name that Restate does not take.
 */
export function serviceName(who: string, agent: string): string {
  const [, name, version] = /^([A-Za-z][\w-]*)(?:@([\w-]+))?$/.exec(agent) ?? []
  checkOption(
    name !== undefined,
    who,
    'the name of an agent must be letters, digits, - and _, with a version after @ if it has one',
    agent,
  )
  return version === undefined ? (name as string) : `${name}.v${version}`
}
