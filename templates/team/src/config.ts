import { userInfo } from 'node:os'
import { parseArgs } from 'node:util'

/** The settings of the app. */
export interface Config {
  readonly user: string
  /** The name of the conversation. */
  readonly thread: string
  /** Undefined if the app reads from the terminal. */
  readonly question: string | undefined
  /** How many tokens one run may use, with all its agents. */
  readonly tokensPerRun: number
  /** How many tokens a user may use in a day. */
  readonly tokensPerDay: number
}

export const USAGE = `Usage: npm start                              a conversation in the terminal
       npm start -- "Where is order 1001?"    one question
       npm start -- --thread work             another conversation

TOKENS_PER_RUN and TOKENS_PER_DAY are the budgets. Ctrl-D ends the conversation, Ctrl-C stops everything.`

/** Reads arguments and environment. Throws for what it cannot use; gives nothing if the user asks for help. */
export function readConfig(args: readonly string[], env: NodeJS.ProcessEnv): Config | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { thread: { type: 'string', default: 'main' }, help: { type: 'boolean', short: 'h' } },
  })
  if (values.help) return undefined
  return {
    user: userInfo().username,
    thread: values.thread,
    question: positionals.join(' ').trim() || undefined,
    tokensPerRun: tokens(env, 'TOKENS_PER_RUN', 50_000),
    tokensPerDay: tokens(env, 'TOKENS_PER_DAY', 1_000_000),
  }
}

function tokens(env: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const count = Number(env[name] || otherwise)
  if (Number.isInteger(count) && count > 0) return count
  throw new Error(`${name} must be a whole number above 0, got ${env[name]}`)
}
