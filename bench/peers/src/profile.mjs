/**
 * Shows where Troupe spends its time: `node bench/peers/src/profile.mjs <workload> [times]` prints the share of each package in a CPU profile.
 * The workloads are those of workloads.mjs by id, and `concurrent` for the first burst of a fresh process. Needs one run of bench:peers before.
 */
import { Session } from 'node:inspector/promises'
import * as troupe from './sides/troupe.mjs'
import { concurrent, workloads } from './workloads.mjs'

const [, , id = 'turn', times = '20000'] = process.argv
const cold = id === 'concurrent'
const workload = cold ? concurrent : workloads.find((each) => each.id === id)
if (!workload) throw new Error(`No workload ${id}: ${workloads.map((each) => each.id).join(', ')}, concurrent.`)
const work = workload.work(troupe)
const often = cold ? 1 : Number(times)
if (!cold) for (let i = 0; i < often; i++) await work()

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.setSamplingInterval', { interval: 100 })
await session.post('Profiler.start')
for (let i = 0; i < often; i++) await work()
const { profile } = await session.post('Profiler.stop')

function placeOf({ functionName, url }) {
  if (functionName === '(garbage collector)') return 'garbage collector'
  const [, name] = /@troupe\/([\w-]+)\//.exec(url) ?? []
  return name ?? (url.includes('/sides/') ? 'model and tool of the bench' : 'engine and Node')
}

const frames = new Map(profile.nodes.map((node) => [node.id, node.callFrame]))
const shares = new Map()
const total = profile.timeDeltas.reduce((sum, delta) => sum + delta, 0)
profile.samples.forEach((sample, i) => {
  const place = placeOf(frames.get(sample))
  shares.set(place, (shares.get(place) ?? 0) + profile.timeDeltas[i])
})
for (const [place, time] of [...shares].toSorted((a, b) => b[1] - a[1])) {
  console.log(`${Math.round((100 * time) / total)} %\t${place}`)
}
