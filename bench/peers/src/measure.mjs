import { done } from './script.mjs'

/**
 * Measures the main-thread CPU of doing the work once, in microseconds: a warm-up, then one round that is much longer than the 4 ms
 * resolution of the clock. The results are checked.
 */
export async function measure(work, expected, { warmMs, roundMs }) {
  let warmed = 0
  let times = 1
  let took = 0
  while (warmed < warmMs) {
    if (took > 0 && took < warmMs / 4) times *= 2
    took = (await cpu(work, expected, times)) / 1_000
    warmed += took
  }
  let enough = Math.max(1, Math.ceil((times * roundMs) / Math.max(took, 1)))
  for (;;) {
    const us = await cpu(work, expected, enough)
    if (us >= roundMs * 950) return us / enough
    // The work is faster now than during the warm-up, so the round was too short.
    enough = Math.ceil(enough * Math.max(1.2, (roundMs * 1_100) / Math.max(us, 1_000)))
  }
}

/** Measures the main-thread CPU of doing the work this number of times, in microseconds. Throws if the work was not done. */
export async function cpu(work, expected, times) {
  Object.assign(done, { modelCalls: 0, toolCalls: 0, deltas: 0 })
  const before = process.threadCpuUsage()
  for (let i = 0; i < times; i++) {
    const text = await work()
    if (text !== expected.text) throw new Error(`Answered ${JSON.stringify(text)?.slice(0, 80)}.`)
  }
  const { user, system } = process.threadCpuUsage(before)
  for (const [what, count] of Object.entries(done)) {
    if (count !== expected[what] * times)
      throw new Error(`${what}: ${count} in ${times} runs, where each needs ${expected[what]}.`)
  }
  return user + system
}
