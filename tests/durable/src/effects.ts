import { appendFileSync, existsSync, readFileSync } from 'node:fs'

/** A call of a model or a tool, as it begins and ends in a process. */
export interface EffectLine {
  readonly what: 'began' | 'ended'
  /** The key of the call, the same at every attempt. */
  readonly key: string
  readonly name: string
  readonly pid: number
}

/** The effects of several processes, one line each, in a file. */
export class Effects {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  note(line: Omit<EffectLine, 'pid'>): void {
    appendFileSync(this.path, `${JSON.stringify({ ...line, pid: process.pid })}\n`)
  }

  all(): readonly EffectLine[] {
    if (!existsSync(this.path)) return []
    const lines = readFileSync(this.path, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as EffectLine)
  }

  /** How often each call of a name began. */
  begun(name: string): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const line of this.all()) {
      if (line.what === 'began' && line.name === name) counts.set(line.key, (counts.get(line.key) ?? 0) + 1)
    }
    return counts
  }
}
