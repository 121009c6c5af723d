import { measureInTurn, median, type Work, type Workload } from '../measure.ts'
import { wordModel } from '../word-model.ts'
import { benchStores } from './bench-stores.ts'
import { type Layer, type Layers, layersOf } from './layers.ts'

/** How deltas arrive: all at once, or each in its own round of the event loop, as from the socket of a real model. */
const PACES = [
  { name: 'in a burst', deltas: 5_000, oneByOne: false },
  { name: 'one by one', deltas: 500, oneByOne: true },
] as const

/** Makes tables of the cost of a delta from the model to the reader, layer by layer. */
export async function* deltaTables(): AsyncGenerator<string> {
  for (const { name, deltas, oneByOne } of PACES) {
    await using stores = benchStores()
    const model = wordModel(deltas, { oneByOne })
    await using memory = await layersOf(model, deltas, stores.memory)
    await using sqlite = await layersOf(model, deltas, stores.sqlite)
    const works = [...memory.layers, ...sqlite.layers, memory.byHand].map(({ work }) => work)
    const rounds = (await measureInTurn(works)).map((round) => round.map((micros) => micros / deltas))
    const count = memory.layers.length
    const sides = [rounds.map((round) => round.slice(0, count)), rounds.map((round) => round.slice(count, -1))]
    const rows = memory.layers.map(
      (layer, at) => `| ${layer.name} | ${sides.map((side) => cells(side, at)).join(' | ')} |`,
    )
    const byHand = median(rounds.map((round) => round.at(-1) ?? 0)).toFixed(2)
    yield [
      `| a delta ${name} | in memory, µs | more by | share | in SQLite, µs | more by | share |\n|---|---|---|---|---|---|---|`,
      ...rows,
      `| ${memory.byHand.name} | ${byHand} | | | | | |`,
    ].join('\n')
  }
}

/** The cost up to a layer, what the layer adds in the same round, and its share of the whole cost. */
function cells(rounds: readonly (readonly number[])[], at: number): string {
  const here = (round: readonly number[]) => round[at] as number
  const added = (round: readonly number[]) => here(round) - (at === 0 ? 0 : (round[at - 1] as number))
  const share = median(rounds.map((round) => added(round) / (round.at(-1) as number)))
  return `${median(rounds.map(here)).toFixed(2)} | ${median(rounds.map(added)).toFixed(2)} | ${Math.round(share * 100)} %`
}

/** Indexes of layers. */
const MODEL = 0
const AG_UI = -3
const HTTP = -1

/** The workloads that have a budget, each beside a hand-written side. */
export async function deltaWorkloads(): Promise<{ readonly workloads: readonly Workload[] } & AsyncDisposable> {
  const stack = new AsyncDisposableStack()
  const stores = stack.use(benchStores())
  const [burst, single] = PACES
  const open = async ({ deltas, oneByOne }: (typeof PACES)[number], kind: 'memory' | 'sqlite') =>
    stack.use(await layersOf(wordModel(deltas, { oneByOne }), deltas, stores[kind]))
  const memory = await open(burst, 'memory')
  const sqlite = await open(burst, 'sqlite')
  const slow = await open(single, 'memory')
  const at = ({ layers }: Layers, index: number) => (layers.at(index) as Layer).work
  const overHttp = (name: string, units: number, all: Layers) =>
    workload(`a delta over HTTP, on a thread ${name}`, units, all.byHand.work, at(all, HTTP))
  return {
    workloads: [
      workload('a delta as AG-UI, on a thread in memory', burst.deltas, at(memory, MODEL), at(memory, AG_UI)),
      overHttp('in memory', burst.deltas, memory),
      overHttp('in SQLite', burst.deltas, sqlite),
      overHttp('in memory, one by one', single.deltas, slow),
    ],
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

function workload(name: string, units: number, { run: handWritten }: Work, { run: troupe, clear }: Work): Workload {
  return { name, unit: 'delta', units, handWritten, troupe, ...(clear && { clear }) }
}
