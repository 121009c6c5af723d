import type { CaseResult } from '../campaign-result.ts'
import { Findings } from '../checks/findings.ts'
import { type Line, promisedIn } from '../conversation/case-event.ts'
import { Effects } from '../conversation/effects.ts'
import { type Random, seeded } from '../random.ts'
import type { Databases, Room } from '../store/databases.ts'
import type { StoreKind } from '../store/open-store.ts'
import type { Measure } from '../worker/baseline.ts'
import { Child } from '../worker/worker-process.ts'
import { type Hit, type Order, REF } from '../worker/worker-task.ts'
import { type Aftermath, goOn } from './recover.ts'

/** Kills one worker, now and then a second one that came after it, and looks at what is left. */
export function killCase(databases: Databases, kind: StoreKind, seed: number, whole: Measure): Promise<CaseResult> {
  const findings = new Findings()
  return databases.within(kind, `kill-${seed}`, async (room) => {
    const random = seeded(seed)
    const lines: Line[] = []
    const hits: string[] = []
    const rounds = random.chance(0.2) ? 2 : 1
    while (hits.length < rounds) {
      const name = `w${hits.length + 1}`
      // One that came to its end before it was hit is followed by the next.
      const { told, hit } = await killOne(databases, room, `${name}.${lines.length}`, seed, random, whole)
      lines.push(...told)
      if (hit !== undefined) hits.push(hit)
    }
    const scene = { place: room.place, ref: REF, effects: new Effects(room.effects), lines, random, findings }
    const after = await goOn(scene)
    return { findings, hits, counts: countsOf(lines, after, hits.length) }
  })
}

async function killOne(
  databases: Databases,
  room: Room,
  name: string,
  seed: number,
  random: Random,
  whole: Measure,
): Promise<{ readonly told: readonly Line[]; readonly hit: string | undefined }> {
  const way = WAYS[seed % WAYS.length]
  if (way === 'outside') {
    await using child = new Child(orderOf(room, name, seed), databases.cache)
    const line = random.below(whole.lines)
    await child.told(({ length }) => length >= line)
    await new Promise<void>((resolve) => void setTimeout(resolve, random.below(15)))
    child.signal('SIGKILL')
    const told = await child.ended()
    const last = told.findLast(({ type }) => type !== 'hit')
    return { told, hit: child.killed ? `outside, after ${last?.type ?? 'nothing'}` : undefined }
  }
  const by = way === 'call' ? 'call' : 'statement'
  const moment = random.pick(by === 'statement' && room.place.kind === 'postgres' ? MOMENTS : SYNCHRONOUS)
  const number = 1 + random.below(by === 'call' ? whole.calls : whole.statements)
  await using child = new Child(orderOf(room, name, seed, { by, number, moment, signal: 'SIGKILL' }), databases.cache)
  const told = await child.ended()
  const hit = told.findLast((line) => line.type === 'hit')
  return { told, hit: child.killed && hit ? `${by} ${hit.at}` : undefined }
}

const WAYS = ['call', 'statement', 'outside'] as const
const MOMENTS: readonly Hit['moment'][] = ['before', 'sent', 'after']
const SYNCHRONOUS: readonly Hit['moment'][] = ['before', 'after']

function orderOf({ place, effects }: Room, name: string, seed: number, hit?: Hit): Order {
  return { place, ref: REF, effects, name, seed, ...(hit && { hit }) }
}

function countsOf(lines: readonly Line[], after: Aftermath, kills: number): CaseResult['counts'] {
  return { kills, acknowledged: promisedIn(lines).length, ...after }
}
