import { userInfo } from 'node:os'
import { parseArgs } from 'node:util'

/** The settings of the app. */
export interface Config {
  /** The name of the user, which the agent is told. */
  readonly user: string
  /** The name of the conversation. */
  readonly thread: string
  /** Undefined if the app reads from the terminal. */
  readonly question: string | undefined
  /** The file with the notes. */
  readonly notes: string
}

export const USAGE = `Usage: npm start                           a conversation in the terminal
       npm start -- "What are my notes?"   one question
       npm start -- --thread work          another conversation

Ctrl-D ends the conversation, Ctrl-C stops everything.`

/** Reads the arguments. Throws for an option that does not exist; gives nothing if the user asks for help. */
export function readConfig(args: readonly string[]): Config | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { thread: { type: 'string', default: 'main' }, help: { type: 'boolean', short: 'h' } },
  })
  if (values.help) return undefined
  const question = positionals.join(' ').trim() || undefined
  return { user: userInfo().username, thread: values.thread, question, notes: 'notes.md' }
}
