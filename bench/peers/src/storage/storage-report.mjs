import { digits, median } from '../compare.mjs'
import { environment, table } from '../report.mjs'
import { LENGTHS, storedSides } from './stored-sides.mjs'

/** The text of RESULTS-STORAGE.md. */
export function storageReport({ rounds, loads, roundMs, machine, versions }) {
  const rows = storedSides.map(({ name }, side) => {
    const figures = LENGTHS.map((_, at) => {
      const cpu = median(rounds.map((round) => round[side][at].cpu))
      const ratio = median(rounds.map((round) => round[side][at].cpu / round[0][at].cpu))
      return side === 0 ? `${digits(cpu)} ms` : `${digits(cpu)} ms (${ratio.toFixed(1)}x)`
    })
    const written = LENGTHS.map((_, at) => `${digits(median(rounds.map((round) => round[side][at].written)))} kB`)
    return [name, ...figures, ...written]
  })
  return `# Storage: Troupe compared with other frameworks

This page is written by \`pnpm bench:peers --storage\`; [peers/README.md](peers/README.md) explains how it measures.

A turn of a conversation in a SQLite file: one model call that asks for a tool, the tool, and an answer in 50 pieces. CPU of the whole
process, all threads, medians of ${rounds.length} repetitions; the ratio to the first row of the same repetition is in parentheses. Lower is better.

${table(
  [
    'side',
    ...LENGTHS.map((length) => `on ${length.toLocaleString('en')} messages`),
    ...LENGTHS.map((length) => `written on ${length.toLocaleString('en')}`),
  ],
  rows,
)}

## Environment

${environment({ machine, loads, rounds: `at least ${roundMs} ms of CPU on threads that get four turns each, or one if they are empty, after a warm-up of the same kind`, command: 'bench:peers --storage', versions })}

## How fair this is

- Every side shows the model the whole thread, except the first row (the last 20 messages) and Mastra, whose memory gives the last 10 of its
  own messages by default. They do less work on long threads.
- The file of the hand-written sides, of Troupe, LangGraph, and the tables of AI SDK and OpenAI Agents, survives a power cut with every
  turn (\`synchronous = full\`, WAL). Mastra's store has its defaults.
- Troupe \`turn\` stores a turn at its end, as the AI SDK, OpenAI Agents and Mastra rows do; Troupe \`step\`, its default, stores each step, as
  LangGraph does.
- Troupe keeps the histories that it has stored in memory, so only the first turn of a thread in a process reads all of it. Of the four turns
  on each thread, one does.
- AI SDK and OpenAI Agents have no store for a database: the row has the table that their guides show, with its rows read and written whole.
- LangGraph's \`SqliteSaver\` runs on \`node:sqlite\` with statements that are kept, because the native build of \`better-sqlite3\` cannot be
  installed everywhere; that is faster than its own way. It runs at its default durability.
- Each turn is checked: its text, two model calls, one tool call, 50 pieces.
`
}
