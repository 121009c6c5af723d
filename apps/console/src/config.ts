import { parseArgs } from 'node:util'
import { KernelError } from '@troupe/kernel'
import { readSettings, type Settings } from '@troupe-apps/setup'

/** The settings of the app, from arguments and environment. */
export interface Config extends Settings {
  readonly question: string
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
    question: positionals.join(' ').trim() || "What's the weather in Beijing?",
    wordDelayMs: terminal ? 25 : 0,
    color,
    help: values.help ?? false,
    agents: values.agents ?? false,
    thread: readThread(values.thread),
  }
}

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  agents: { type: 'boolean' },
  thread: { type: 'string' },
} as const

function readThread(thread: string | undefined): string | undefined {
  if (thread !== '') return thread
  throw new KernelError('CONFIG_INVALID', 'demo: --thread needs the name of a conversation, got none; try --help')
}

function parse(args: readonly string[]): {
  values: { help?: boolean; agents?: boolean; thread?: string }
  positionals: string[]
} {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS })
  } catch (cause) {
    throw new KernelError('CONFIG_INVALID', `demo: ${KernelError.from(cause).message}; try --help`, { cause })
  }
}
