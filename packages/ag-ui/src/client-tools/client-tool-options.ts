import type { Tool } from '@ag-ui/core'
import type { KernelError, Owner } from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { invalidInput } from '../input/check-json.ts'
import { LONGEST_NAME } from '../input/check-tools.ts'

/** Which tools of a client the model gets, and under which names. */
export interface ClientToolOptions {
  /** Selects them. @default all */
  readonly select?: (tool: Tool, owner: Owner) => boolean
  /** Put before their names for the model; clients see their own names. Contract: no tool of an agent begins with it. @default none */
  readonly prefix?: string
}

/** Contract: throws `CONFIG_INVALID` for options that cannot work. */
export function clientToolOptions(
  who: string,
  given: ClientToolOptions | ClientToolOptions['select'] = {},
): ClientToolOptions {
  const options = typeof given === 'function' ? { select: given } : given
  checkOptionNames(`${who}: clientTools`, options, { select: true, prefix: true })
  const { select, prefix = '' } = options
  checkOption(
    select === undefined || typeof select === 'function',
    who,
    'clientTools.select must be a function',
    select,
  )
  const fits = typeof prefix === 'string' && /^[\w-]{0,32}$/.test(prefix)
  checkOption(fits, who, 'clientTools.prefix must have at most 32 letters, digits, _ and -', prefix)
  return options
}

/** The tools of a request that the model gets. Contract: a name that is too long with the prefix is refused, and not the request. */
export function selectedTools(
  { select = () => true, prefix = '' }: ClientToolOptions,
  tools: readonly Tool[],
  owner: Owner,
  onRefused: (reason: KernelError) => void,
): Tool[] {
  const longest = LONGEST_NAME - prefix.length
  return tools.filter((tool) => {
    if (!select(tool, owner)) return false
    const fits = tool.name.length <= longest
    if (!fits) onRefused(invalidInput(`tools ${tool.name}`, `expected a name of at most ${longest} characters`))
    return fits
  })
}
