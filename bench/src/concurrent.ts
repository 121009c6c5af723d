/** Wall time and peak memory of 1,000 runs at once, of one side; started by main.ts in a process of its own. */
import { chatModelWorkloads } from './chat-model.ts'

const [, , side = 'troupe'] = process.argv
const workload = chatModelWorkloads().find(({ name }) => name === '1,000 concurrent three-step runs')
const work = side === 'troupe' ? workload?.troupe : workload?.handWritten
for (let i = 0; i < 3; i++) await work?.()
const start = performance.now()
for (let i = 0; i < 10; i++) await work?.()
const wallMs = (performance.now() - start) / 10
console.log(JSON.stringify({ wallMs: Math.round(wallMs), peakMb: Math.round(process.resourceUsage().maxRSS / 1024) }))
