import assert from 'node:assert/strict'
import { loopbackOnly } from './loopback-only.mjs'

/** An address that is reserved for documentation, so that nobody answers there. */
const ELSEWHERE = '192.0.2.1'

/** Runs every check over both transports. Contract: resolves with whether all have passed. */
export async function runChecks() {
  const refused = loopbackOnly()
  // Imported after the guard is in place, because packages may send requests when they are loaded.
  const { CheckRunner } = await import('./check-runner.mjs')
  const { startTroupe } = await import('./start-troupe.mjs')
  const { startRuntime } = await import('./start-runtime.mjs')
  const { FrontEnd } = await import('./front-end.mjs')
  const { CONVERSATION_CHECKS } = await import('./conversation-checks.mjs')
  const { STOP_CHECKS } = await import('./stop-checks.mjs')
  const { caller, ENDPOINT_CHECKS } = await import('./endpoint-checks.mjs')
  const startedAt = performance.now()
  const checks = new CheckRunner()
  const troupe = await startTroupe()
  const runtime = await startRuntime(troupe.urls)
  try {
    await checks.check('guard: a request to elsewhere is refused and counted', async () => {
      const answers = await Promise.allSettled([fetch(`http://${ELSEWHERE}`), fetch(`https://${ELSEWHERE}`)])
      assert.ok(answers.every(({ status }) => status === 'rejected'))
      assert.deepEqual(refused.splice(0), [`${ELSEWHERE}:80`, `${ELSEWHERE}:443`])
    })
    for (const transport of ['rest', 'single']) {
      const call = caller(runtime, transport)
      const open = (options) => new FrontEnd({ url: runtime[transport], transport, ...options })
      for (const [name, check] of Object.entries(ENDPOINT_CHECKS))
        await checks.check(`${transport}: ${name}`, () => check(call))
      for (const [name, check] of Object.entries({ ...CONVERSATION_CHECKS, ...STOP_CHECKS })) {
        await checks.check(`${transport}: ${name}`, () => check(open))
      }
    }
    await checks.check('guard: no request has left this machine', async () => {
      assert.deepEqual(refused, [])
    })
  } finally {
    runtime.stop()
    troupe.stop()
  }
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  console.log(`\n${checks.passed} passed, ${checks.failed} failed, ${seconds} s`)
  return checks.failed === 0
}
