import type { Findings } from '../checks/findings.ts'
import type { Random } from '../random.ts'
import { type Line, pause, Talker } from './talker.ts'

const SCRIPTS: readonly string[] = ['talk', 'look look pay', 'clerk look', 'pay | look pay', 'clerk | pay', 'pay pay']

/** Several users who talk at the same time, each in a thread of its own. */
export class Crowd {
  readonly talkers: readonly Talker[]
  readonly #random: Random
  readonly #talking: Promise<unknown>[] = []

  /** `name` begins the names of their threads. */
  constructor(name: string, count: number, line: Line, random: Random, findings: Findings) {
    this.#random = random
    this.talkers = Array.from({ length: count }, (_, i) => new Talker(`${name}${i + 1}`, line, findings))
  }

  /** Lets everybody begin a number of turns. */
  talk(turns: number): void {
    for (const talker of this.talkers) {
      const scripts = Array.from({ length: turns }, (_, i) => `${i + 1}: ${this.#random.pick(SCRIPTS)}`)
      const first = this.#random.below(50)
      this.#talking.push(sayAll(talker, scripts, first))
    }
  }

  /** Waits until everybody has finished. */
  async settled(): Promise<void> {
    await Promise.all(this.#talking)
  }

  get counts(): TalkCounts {
    return countsOf(this.talkers)
  }

  /** The counts of two crowds. */
  countsWith(other: Crowd): TalkCounts {
    return countsOf([...this.talkers, ...other.talkers])
  }

  /** The codes of turns that failed. */
  get codes(): readonly string[] {
    return this.talkers.flatMap(({ turns }) => turns.flatMap(({ code }) => (code === undefined ? [] : [code])))
  }

  get slowestMs(): number {
    return Math.max(...this.talkers.map((talker) => talker.slowestMs))
  }
}

async function sayAll(talker: Talker, scripts: readonly string[], firstMs: number): Promise<void> {
  await pause(firstMs)
  for (const script of scripts) await talker.say(script)
}

/** What talkers went through. */
interface TalkCounts {
  readonly turns: number
  readonly failed: number
  readonly refused: number
  readonly cut: number
}

function countsOf(talkers: readonly Talker[]): TalkCounts {
  const turns = talkers.flatMap((talker) => talker.turns)
  const answers = talkers.flatMap((talker) => [...talker.answers])
  const sum = (kind: RegExp) => answers.reduce((all, [name, count]) => all + (kind.test(name) ? count : 0), 0)
  return {
    turns: turns.filter(({ acknowledged }) => acknowledged).length,
    failed: turns.filter(({ code }) => code !== undefined).length,
    refused: sum(/^503/),
    cut: sum(/^cut/),
  }
}
