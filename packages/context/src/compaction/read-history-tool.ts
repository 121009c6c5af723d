import { defineTool, type Message, type RunContext, type ThreadStore, type Tool } from '@troupe/kernel'
import { pages } from '@troupe/kernel/kit'
import MiniSearch from 'minisearch'
import { excerpt } from '../excerpt.ts'
import { words } from '../words.ts'
import type { CompactedRun } from './compacted-run.ts'
import { messageText } from './transcript.ts'

/** An original message with its number in the thread. */
interface Original {
  readonly no: number
  readonly message: Message
}

/** The name of the tool that reads what was cut off. */
export const READ_HISTORY = 'read_history'

const PAGE = 1_000
const MOST_HITS = 5
/** Characters of what one call gives. */
const MOST_CHARS = 8_000

/** The tool with which a model finds and reads the messages of its thread that it does not see any more. */
export function readHistoryTool(
  threads: Pick<ThreadStore, 'messages'>,
  clean: (message: Message) => Message,
  runOf: (ctx: RunContext) => CompactedRun | undefined,
): Tool {
  return defineTool({
    name: READ_HISTORY,
    description:
      'Finds and reads earlier messages of this conversation that only their summary shows. With query: the messages that match best, with their numbers. With from: the messages from this number on.',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string' }, from: { type: 'integer', minimum: 1 } },
    },
    kind: 'read',
    effect: 'idempotent',
    async invoke({ query, from }, ctx) {
      const stored = await originalsOf(threads, ctx, runOf(ctx))
      if (stored.length === 0) return 'There are no earlier messages.'
      // Whole: what is cut in two is not found any more by what cleans results.
      const originals = stored.map(({ no, message }) => ({ no, message: clean(message) }))
      if (query !== undefined && from === undefined) return found(originals, query)
      return listed(originals.filter(({ no }) => no >= (from ?? 1)))
    },
  }) as Tool
}

/** The messages that are not shown, in order: those of the thread before the cut, and what this run has cut off itself. */
async function originalsOf(
  threads: Pick<ThreadStore, 'messages'>,
  ctx: RunContext,
  run: CompactedRun | undefined,
): Promise<readonly Original[]> {
  const cut = run?.compacted(ctx)?.cut
  const own = new Map(run?.cutOff)
  const originals: Original[] = []
  for await (const page of pages(PAGE, (query) => threads.messages(ctx.session, query))) {
    for (const { seq: no, message } of page) {
      if (message.id === cut) return originals
      own.delete(message.id)
      originals.push({ no, message })
    }
  }
  let last = originals.at(-1)?.no ?? 0
  for (const message of own.values()) if (!message.id.startsWith('summary:')) originals.push({ no: ++last, message })
  return originals
}

/** The messages that match best. */
function found(originals: readonly Original[], query: string): string {
  const index = new MiniSearch<{ readonly id: number; readonly text: string }>({ fields: ['text'], tokenize: words })
  index.addAll(originals.map(({ message }, id) => ({ id, text: messageText(message) })))
  const hits = index.search(query, {
    prefix: (term) => term.length > 3,
    fuzzy: (term) => (term.length > 5 ? 0.2 : false),
  })
  const best = hits.slice(0, MOST_HITS).flatMap(({ id, terms }) => {
    const original = originals[id as number]
    return original ? [`#${original.no}\n${excerpt(messageText(original.message), terms)}`] : []
  })
  if (best.length === 0)
    return `No earlier message matches ${JSON.stringify(query)}. There are ${originals.length}, the first has number ${originals[0]?.no}.`
  return best.join('\n\n')
}

/** Messages as they are, as many as fit. */
function listed(originals: readonly Original[]): string {
  let text = ''
  for (const original of originals) {
    const next = `#${original.no}\n${messageText(original.message)}\n\n`
    if (text !== '' && text.length + next.length > MOST_CHARS)
      return `${text}There is more: read on with from ${original.no}.`
    text += next.slice(0, MOST_CHARS)
  }
  return text === '' ? 'There are no earlier messages with this number.' : text.trimEnd()
}
