import { parseArgs } from 'node:util'
import { takeBack } from '../../create-plugin/src/taken-option.ts'
import { type Given, MODELS } from './choices.ts'
import { PACKAGE_MANAGERS } from './package-manager.ts'
import { STORES, type Template } from './template.ts'

/** What the command is asked to do. */
export interface Arguments extends Given {
  readonly help: boolean
  readonly version: boolean
  readonly list: boolean
  /** Whether to take defaults without asking. */
  readonly yes: boolean
}

/** Options that the package manager took for its own, by name: its value, or 'true' if the value is an argument. */
export type TakenOptions = Readonly<Partial<Record<'template' | 'model' | 'store' | 'pm' | 'yes' | 'list', string>>>

/** Reads the arguments, with the options that the package manager took. Contract: throws for what it does not know. */
export function readArguments(args: readonly string[], taken: TakenOptions, templates: readonly Template[]): Arguments {
  const { values, positionals } = parsed(args)
  const known = {
    template: templates.map(({ name }) => name),
    model: MODELS,
    store: STORES,
    pm: PACKAGE_MANAGERS,
  }
  const options: Given = { template: values.template, model: values.model, store: values.store, pm: values.pm }
  let words: readonly string[] = positionals
  const found = Object.entries(known).map(([name, values]) => {
    const own = options[name as keyof typeof known]
    if (own !== undefined) return [name, own]
    const back = takeBack(words, { name, known: values, taken: taken[name as keyof typeof known] })
    words = back.words
    return [name, back.value]
  })
  const [folder, extra] = words
  if (extra !== undefined) throw new Error(`One folder is enough, but there is '${extra}' too. See --help.`)
  return {
    ...Object.fromEntries(found),
    folder: folder === '' ? undefined : folder,
    help: values.help,
    version: values.version,
    list: values.list || taken.list === 'true',
    yes: values.yes || taken.yes === 'true',
  }
}

const OPTIONS = {
  template: { type: 'string', short: 't' },
  model: { type: 'string', short: 'm' },
  store: { type: 'string', short: 's' },
  pm: { type: 'string' },
  yes: { type: 'boolean', short: 'y', default: false },
  list: { type: 'boolean', short: 'l', default: false },
  version: { type: 'boolean', short: 'v', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

/** Contract: what Node says of a mistake is cut to the sentence that names it. */
function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS })
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split(/[.\n]/)
    throw new Error(`${sentence}. See --help.`, { cause: error })
  }
}
