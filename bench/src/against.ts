/** Compares this checkout with another one, workload by workload in one process: `node bench/src/against.ts ../other [name]`. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { measureInTurn, median, mediansOf, type Workload } from './measure.ts'

/** The workloads without a database. */
const FILES = {
  'kernel-workloads': 'kernelWorkloads',
  'chat-model-workloads': 'chatModelWorkloads',
  'flow-workloads': 'flowWorkloads',
  'subagent-workloads': 'subagentWorkloads',
} as const

async function workloadsOf(root: string): Promise<readonly Workload[]> {
  const found: Workload[] = []
  for (const [file, name] of Object.entries(FILES)) {
    const { href } = pathToFileURL(resolve(root, `bench/src/workloads/${file}.ts`))
    const made = (await import(href)) as { readonly [name: string]: () => Promise<readonly Workload[]> }
    found.push(...((await made[name]?.()) ?? []))
  }
  return found
}

const [, , other, only = ''] = process.argv
if (other === undefined) throw new Error('against: say where the other checkout is: node bench/src/against.ts ../other')
const here = await workloadsOf(resolve(import.meta.dirname, '../..'))
console.log('| workload | there, µs | here, µs | ratio |\n|---|---|---|---|')
for (const before of await workloadsOf(other)) {
  const now = here.find(({ name }) => name === before.name)
  if (!now || !before.name.includes(only)) continue
  const sides = [before, now].map(({ troupe: run, clear }) => ({ run, ...(clear && { clear }) }))
  const rounds = await measureInTurn(sides)
  const [there = 0, ours = 0] = mediansOf(rounds)
  const ratio = median(rounds.map(([left = 0, right = 0]) => right / left))
  const [a, b] = [there / before.units, ours / now.units].map((time) => time.toFixed(time < 0.1 ? 4 : 2))
  console.log(`| ${before.name} | ${a} | ${b} | ${ratio.toFixed(2)}x |`)
}
process.exit()
