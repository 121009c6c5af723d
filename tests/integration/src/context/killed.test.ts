import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { textOf } from '@troupe/kernel'
import { sqliteStore } from '@troupe/store-sqlite'
import { expect, test } from 'vitest'

/** `KILLS=100` is the long version. */
const KILLS = Number(process.env.KILLS ?? 6)
const WORKER = fileURLToPath(new URL('./killed-worker.ts', import.meta.url))

/** Runs a process and kills it this long after it has noted a word; says whether it had ended before. */
async function killed(args: readonly string[], word: string, afterMs: number): Promise<boolean> {
  const notes = args[1] ?? ''
  const count = () => notesIn(notes).filter(([said]) => said === word).length
  const before = count()
  const child = spawn(process.execPath, ['--no-warnings', WORKER, ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = new Promise<boolean>((resolve) => child.on('close', (code) => resolve(code === 0)))
  let timer: NodeJS.Timeout | undefined
  const watch = setInterval(() => {
    if (timer || count() === before) return
    timer = setTimeout(() => child.kill('SIGKILL'), afterMs)
  }, 1)
  const complete = await ended
  clearInterval(watch)
  clearTimeout(timer)
  return complete
}

function notesIn(path: string): readonly (readonly string[])[] {
  try {
    return readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(' '))
  } catch {
    return []
  }
}

/** Which summaries were stored, and what was done again although it was stored. */
function summariesIn(notes: string): { readonly stored: ReadonlySet<string>; readonly again: readonly string[] } {
  const stored = new Set<string>()
  const again: string[] = []
  for (const [word, fact = ''] of notesIn(notes)) {
    if (word !== 'stored' && word !== 'asked') continue
    if (stored.has(fact)) again.push(`${word} ${fact}`)
    if (word === 'stored') stored.add(fact)
  }
  return { stored, again }
}

/** Checks that the thread has all messages, and that all that was cut off is in the summary. */
async function expectAll(path: string, threadId: string): Promise<void> {
  await using store = sqliteStore({ path })
  const ref = { app: 'test', user: 'ann', threadId }
  const messages = (await store.threads.messages(ref)).map(({ message }) => message)
  const looked = messages.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content).split('.')[0])
  expect(looked).toEqual(Array.from({ length: 12 }, (_, i) => `FACT ${i}`))
  const summary = JSON.stringify((await store.threads.get(ref))?.state['context:summary'])
  const cut = messages.findIndex(({ id }) => summary.includes(`"cut":${JSON.stringify(id)}`))
  const facts = messages.slice(0, cut).filter(({ role }) => role === 'tool')
  expect(facts.length).toBeGreaterThan(4)
  for (const { content } of facts) expect(summary).toContain(`"${textOf(content).split(' x')[0]}"`)
}

test(
  `a run that is killed ${KILLS} times around its summaries loses nothing and writes no stored summary again`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-killed-'))
    const path = join(folder, 'troupe.db')
    try {
      let kills = 0
      for (let thread = 0; kills < KILLS; thread++) {
        const args = [path, join(folder, `notes-${thread}`), `run-${thread}`]
        for (let attempt = 0; kills < KILLS && attempt < 6; attempt++) {
          // In turn: when a summary was stored, while it is written, and anywhere.
          const word = ['stored', 'asked', 'begun'][kills % 3] ?? 'begun'
          if (await killed(args, word, (kills * 7) % 23)) break
          kills++
        }
        await killed(args, 'never', 0)
        const notes = args[1] ?? ''
        expect(notesIn(notes).at(-1)).toEqual(['complete'])
        const { stored, again } = summariesIn(notes)
        expect(again).toEqual([])
        expect(stored.size).toBeGreaterThanOrEqual(2)
        await expectAll(path, `run-${thread}`)
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
  KILLS * 20_000,
)
