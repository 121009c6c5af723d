import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'

const START_RUN = fileURLToPath(new URL('../../packages/kernel/src/run/start-run.ts', import.meta.url))
const JOURNALLED = fileURLToPath(new URL('journal-every-run.ts', import.meta.url))
/** Where `startRun` makes the context of a root run, after `prepare`. */
const PLACE = '=> rootContext(core, agent.name, state, settings)'

/** Puts a journal under every root run. Contract: fails where `startRun` no longer makes its context in the known place. */
export function journalEveryRun(): Plugin {
  return {
    name: 'journal-every-run',
    enforce: 'pre',
    transform(code, id) {
      if (id !== START_RUN) return
      if (code.split(PLACE).length !== 2)
        throw new Error(`${START_RUN}: expected once, as the plugin needs it: ${PLACE}`)
      const wrapped = code.replace(PLACE, '=> journalled(rootContext(core, agent.name, state, settings))')
      return `import { journalled } from ${JSON.stringify(JOURNALLED)}\n${wrapped}`
    },
  }
}
