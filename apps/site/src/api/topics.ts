/** Sorts the exports of the packages into pages of the API reference: one for each entry, several where an entry has many. */
import { posix } from 'node:path'
import { type EntryExports, type Export, publicExports } from './exports.ts'

/** One page of the API reference. */
export interface ApiPage {
  /** Below `api/`, without `.md`: `kernel/agents`. */
  readonly path: string
  readonly title: string
  /** The name to import it by: `@troupe/kernel/run`. */
  readonly entryName: string
  /** The file of the entry, absolute. */
  readonly entryFile: string
  readonly exports: readonly Export[]
}

/** A part of a large entry: what its page is called, and the folders of the source whose exports are on it. */
type Topic = readonly [path: string, title: string, folders: readonly string[]]

/** The parts of large entries. What no part names is on the first page. */
const TOPICS: Readonly<Record<string, readonly Topic[]>> = {
  '@troupe/kernel': [
    ['agents', 'Agents, tools, models and handlers', ['agent']],
    ['data', 'Messages, events, actions and errors', ['data']],
    ['runs', 'Runs, context and callbacks', ['run', 'context', 'callback', 'stream', 'engine']],
    ['stores', 'Contracts of stores', ['store']],
  ],
  '@troupe/kernel/kit': [
    ['plugins', 'For plugins: options, waiting and pages', ['kit', 'context']],
    ['plugins-data', 'For plugins: schemas, JSON and checks', ['data', 'agent']],
    ['plugins-streams', 'For plugins: streams', ['stream']],
  ],
  '@troupe/ag-ui': [
    ['serve', 'Serve agents', ['http', 'run', 'lost', 'log', 'agent', 'session', 'input']],
    ['translate', 'Events as clients see them', ['translate', 'write']],
    ['client-tools', 'Tools of the client', ['client-tools']],
  ],
  '@troupe/flow': [
    ['runner', 'Runner and threads', ['runner']],
    ['tree', 'Trees of agents and transfers', ['tree']],
    ['workflows', 'Workflows', ['workflow']],
  ],
  '@troupe/handlers': [
    ['handlers', 'Logging, caches and limits', []],
    ['budget', 'Budgets', ['budget']],
    ['guardrails', 'Guardrails', ['guardrails', 'guarded-runner']],
    ['redaction', 'Redaction', ['redaction']],
  ],
  '@troupe/subagent': [
    ['define', 'Define and register agents', ['define', 'registry']],
    ['execute', 'Run agents as tools', ['execute']],
    ['policy', 'Policies and approvals', ['policy']],
  ],
  '@troupe/testkit': [
    ['agents', 'Test agents', []],
    ['suites', 'Conformance suites', ['suite', 'store-suite', 'replay-suite']],
  ],
}

/** The pages of the API reference, in the order of the packages. */
export function readApiPages(entries: readonly EntryExports[] = publicExports()): readonly ApiPage[] {
  return entries.flatMap(pagesOfEntry)
}

function pagesOfEntry({ entry, exports }: EntryExports): readonly ApiPage[] {
  const folder = posix.basename(entry.folder)
  const page = (path: string, title: string, own: readonly Export[]): ApiPage => ({
    path: posix.join(folder, path),
    title,
    entryName: entry.name,
    entryFile: entry.file,
    exports: own,
  })
  const topics = TOPICS[entry.name]
  if (!topics) {
    const subpath = entry.name.split('/').slice(2).join('-')
    return [page(subpath || 'main', entry.name, exports)]
  }
  return topics
    .map(([path, title], i) =>
      page(
        path,
        title,
        exports.filter((one) => topicOf(one, topics) === i),
      ),
    )
    .filter(({ exports }) => exports.length > 0)
}

function topicOf({ file }: Export, topics: readonly Topic[]): number {
  const folder = file.startsWith('packages/') ? (file.split('/').slice(3, -1)[0] ?? '') : ''
  return Math.max(
    0,
    topics.findIndex(([, , folders]) => folders.includes(folder)),
  )
}
