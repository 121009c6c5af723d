/** Measures wall time and peak memory of 1,000 runs at once, of one side; main.ts starts it in its own process. */
import { existsSync, readFileSync } from 'node:fs'
import { chatModelWorkloads } from '../workloads/chat-model-workloads.ts'

/** Peak memory in megabytes. On Linux `maxRSS` of a child includes the peak of its parent, `VmHWM` does not. */
function peakMemory(): number {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : ''
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? process.resourceUsage().maxRSS) / 1024
}

const [, , side = 'troupe'] = process.argv
const workload = chatModelWorkloads().find(({ name }) => name === '1,000 concurrent three-step runs')
const work = side === 'troupe' ? workload?.troupe : workload?.handWritten
for (let i = 0; i < 3; i++) await work?.()
const start = performance.now()
for (let i = 0; i < 10; i++) await work?.()
const wallMs = (performance.now() - start) / 10
console.log(JSON.stringify({ wallMs: Math.round(wallMs), peakMb: Math.round(peakMemory()) }))
