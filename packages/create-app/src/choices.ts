import { PACKAGE_MANAGERS, type PackageManager } from './package-manager.ts'
import { DEFAULT_TEMPLATE, STORES, type StoreId, type Template } from './template.ts'
import { TEMPLATE_VENDOR, VENDORS, type VendorId } from './vendor.ts'

/** What answers: a vendor's model, or the demo model alone. */
export type ModelId = VendorId | 'demo'

/** All models. */
export const MODELS: readonly ModelId[] = [...VENDORS.map(({ id }) => id), 'demo']

/** What the arguments say; what is missing is asked for, or is the default. */
export interface Given {
  readonly folder?: string | undefined
  readonly template?: string | undefined
  readonly model?: string | undefined
  readonly store?: string | undefined
  readonly pm?: string | undefined
}

/** Everything that has to be known to make an app. */
export interface Choices {
  readonly folder: string
  readonly template: Template
  readonly model: ModelId
  readonly store: StoreId | undefined
  readonly packageManager: PackageManager
  /** The defaults that nobody chose, for people: `model openai`. */
  readonly defaults: readonly string[]
}

/** A value to choose, and what a person reads about it. */
export interface Option<Value extends string> {
  readonly value: Value
  readonly label: string
  readonly hint?: string
}

/** Asks a person. Contract: throws `Cancelled` if the person wants to stop. */
export interface Asker {
  /** `refuse` gives what is wrong with a text. */
  text(question: string, initial: string, refuse: (text: string) => string | undefined): Promise<string>
  select<Value extends string>(question: string, options: readonly Option<Value>[], initial: Value): Promise<Value>
}

/** The person does not want to go on. */
export class Cancelled extends Error {}

/** Checks what is given. Contract: throws for a value that does not exist, with those that do. */
export function checkGiven(given: Given, templates: readonly Template[]): void {
  const names = templates.map(({ name }) => name)
  if (given.template !== undefined) oneOf('template', given.template, names)
  if (given.model !== undefined) oneOf('model', given.model, MODELS)
  if (given.store !== undefined) oneOf('store', given.store, STORES)
  if (given.pm !== undefined) oneOf('package manager', given.pm, PACKAGE_MANAGERS)
  const template = templates.find(({ name }) => name === given.template)
  if (template) storeOf(template, given.store)
}

/**
 * Completes what is given, by questions if there is somebody to ask, else by defaults.
 * Contract: `refuse` says what is wrong with a folder.
 */
export async function choose(
  given: Given,
  templates: readonly Template[],
  running: PackageManager,
  { asker, refuse }: { readonly asker: Asker | undefined; readonly refuse: (folder: string) => string | undefined },
): Promise<Choices> {
  const defaults: string[] = []
  const pick = async <Value extends string>(
    name: string,
    { value, options, initial }: { value: string | undefined; options: readonly Option<Value>[]; initial: Value },
  ): Promise<Value> => {
    if (value !== undefined) return value as Value
    if (asker && options.length > 1) return asker.select(QUESTIONS[name] ?? name, options, initial)
    defaults.push(`${name} ${initial}`)
    return initial
  }
  const { folder = await folderOf(asker, refuse, defaults) } = given
  const name = await pick('template', {
    value: given.template,
    options: templates.map(({ name, description }) => ({ value: name, label: name, hint: description })),
    initial: DEFAULT_TEMPLATE,
  })
  const template = templates.find((one) => one.name === name)
  if (!template) throw new Error(`There is no template '${name}'.`)
  const model = await pick('model', { value: given.model, options: modelOptions(), initial: TEMPLATE_VENDOR.id })
  const [first] = template.stores
  const store =
    first &&
    (await pick('store', { value: storeOf(template, given.store), options: storeOptions(template), initial: first }))
  const packageManager = await pick('package manager', {
    value: given.pm,
    options: PACKAGE_MANAGERS.map((value) => ({ value, label: value })),
    initial: running,
  })
  return { folder, template, model, store, packageManager, defaults }
}

const QUESTIONS: Readonly<Record<string, string>> = {
  template: 'Which app do you begin with?',
  model: 'Whose model answers? Without its key, a demo model does.',
  store: 'Where are conversations kept?',
  'package manager': 'Which package manager do you use?',
}

async function folderOf(
  asker: Asker | undefined,
  refuse: (folder: string) => string | undefined,
  defaults: string[],
): Promise<string> {
  const initial = 'my-app'
  if (asker) return asker.text('In which folder?', initial, refuse)
  defaults.push(`folder ${initial}`)
  return initial
}

function modelOptions(): readonly Option<ModelId>[] {
  const vendors = VENDORS.map(({ id, name, model }) => ({ value: id, label: name, hint: model }))
  return [...vendors, { value: 'demo', label: 'none', hint: 'the demo model alone' }]
}

const STORE_HINTS: Readonly<Record<StoreId, Option<StoreId>>> = {
  sqlite: { value: 'sqlite', label: 'SQLite', hint: 'a file' },
  memory: { value: 'memory', label: 'memory', hint: 'gone when the app ends' },
  postgres: { value: 'postgres', label: 'PostgreSQL', hint: 'a server of yours' },
}

function storeOptions({ stores }: Template): readonly Option<StoreId>[] {
  return stores.map((id) => STORE_HINTS[id])
}

/** Contract: throws if the template does not have the store. */
function storeOf({ name, stores }: Template, store: string | undefined): string | undefined {
  if (store === undefined || stores.some((id) => id === store)) return store
  const has = stores.length === 0 ? 'no choice of stores: leave --store out' : `the stores ${stores.join(', ')}`
  throw new Error(`The template ${name} has ${has}.`)
}

function oneOf(what: string, value: string, known: readonly string[]): void {
  if (!known.includes(value)) throw new Error(`'${value}' is not a ${what}. Use one of ${known.join(', ')}.`)
}
