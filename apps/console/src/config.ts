import { parseArgs } from 'node:util'
import { KernelError } from '@troupe/kernel'
import { readSettings, type Settings } from '@troupe-apps/setup'

/** The settings of the app, from arguments and environment. */
export interface Config extends Settings {
  /** Undefined if the app is only to go on with a run that broke off. */
  readonly question: string | undefined
  /** Whether to go on with the run of the conversation that broke off, without asking. */
  readonly continues: boolean
  /** A pause between words of the demo model, so that a person sees it stream. */
  readonly wordDelayMs: number
  readonly color: boolean
  readonly help: boolean
  /** Whether to only print the agents. */
  readonly agents: boolean
  /** The name of the conversation; without one nothing is saved. */
  readonly thread: string | undefined
}

/** The text of `--help`. */
export const USAGE = `Usage: pnpm demo                         opens a chat in the browser
       pnpm demo "What's the weather in Beijing?"
       pnpm demo --thread holiday "…"   continues a conversation, or begins it
       pnpm demo --thread holiday --continue   goes on with its run that broke off, after a crash
       pnpm demo "Where in the code is defineTool?"   lets a sub-agent search this folder (or TROUPE_FOLDER)
       pnpm demo --agents               shows the agents and their transfers

Conversations are saved in troupe.db, in another SQLite file (TROUPE_DB) or in PostgreSQL (DATABASE_URL).

Without a key a small demo model answers, which only knows a few made-up weather reports. For a real model:

  TROUPE_MODEL=openai:gpt-5            with OPENAI_API_KEY
  TROUPE_MODEL=anthropic:claude-…      with ANTHROPIC_API_KEY
  TROUPE_MODEL=google:gemini-…         with GOOGLE_GENERATIVE_AI_API_KEY
  TROUPE_MODEL=ollama:llama3.2         with a local Ollama server, or another at OLLAMA_BASE_URL

Ctrl-C stops the run.`

/** Reads arguments and environment. Contract: throws `CONFIG_INVALID`, which says what to do. */
export function readConfig(args: readonly string[], env: NodeJS.ProcessEnv, terminal: boolean): Config {
  const { values, positionals } = parse(args)
  const color = env.FORCE_COLOR ? env.FORCE_COLOR !== '0' : terminal && !env.NO_COLOR
  return {
    ...readSettings(env),
    question: positionals.join(' ').trim() || (values.continue ? undefined : "What's the weather in Beijing?"),
    continues: values.continue ?? false,
    wordDelayMs: terminal ? 25 : 0,
    color,
    help: values.help ?? false,
    agents: values.agents ?? false,
    thread: readThread(values.thread, values.continue ?? false),
  }
}

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  agents: { type: 'boolean' },
  thread: { type: 'string' },
  continue: { type: 'boolean' },
} as const

function readThread(thread: string | undefined, isNeeded: boolean): string | undefined {
  if (thread !== '' && (thread !== undefined || !isNeeded)) return thread
  const what = isNeeded ? '--continue needs --thread with' : '--thread needs'
  throw new KernelError('CONFIG_INVALID', `demo: ${what} the name of a conversation, got none; try --help`)
}

function parse(args: readonly string[]): {
  values: { help?: boolean; agents?: boolean; thread?: string; continue?: boolean }
  positionals: string[]
} {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS })
  } catch (cause) {
    throw new KernelError('CONFIG_INVALID', `demo: ${KernelError.from(cause).message}; try --help`, { cause })
  }
}
