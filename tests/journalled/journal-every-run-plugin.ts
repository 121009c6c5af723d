import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const JOURNALS = pathOf('journal-every-run.ts')

/** A place in the source where a run gets its journal. */
interface Place {
  readonly found: string
  readonly becomes: string
  readonly uses: string
}

const PLACES: ReadonlyMap<string, Place> = new Map([
  [
    // The context of a root run, after `prepare`.
    pathOf('../../packages/kernel/src/run/start-run.ts'),
    {
      found: '=> rootContext(core, agent.name, state, settings)',
      becomes: '=> journalled(rootContext(core, agent.name, state, settings), host.open !== undefined)',
      uses: 'journalled',
    },
  ],
  [
    // The context of a run on a thread: the journal of its store is watched, and one that is not stored by step gets one.
    pathOf('../../packages/flow/src/runner/thread-work.ts'),
    {
      found: '? ctx : ctx.with(JOURNAL, wrap(journal.steps))',
      becomes: '? journalled(ctx, false) : ctx.with(JOURNAL, watched(wrap(journal.steps), ctx.runId))',
      uses: 'journalled, watched',
    },
  ],
])

/** Puts a journal under every root run. Contract: fails where a run no longer gets its context in a known place. */
export function journalEveryRun(): Plugin {
  return {
    name: 'journal-every-run',
    enforce: 'pre',
    transform(code, id) {
      const place = PLACES.get(id)
      if (!place) return
      const { found, becomes, uses } = place
      if (code.split(found).length !== 2) throw new Error(`${id}: expected once, for the journalled tests: ${found}`)
      return `import { ${uses} } from ${JSON.stringify(JOURNALS)}\n${code.replace(found, becomes)}`
    },
  }
}
