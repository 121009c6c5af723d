import assert from 'node:assert/strict'
import { loopbackOnly } from './loopback-only.mjs'

/** Where nobody is: documentation alone uses this address. */
const ELSEWHERE = '192.0.2.1'

/** Runs every check over both transports. Contract: resolves with whether all have passed. */
export async function runChecks() {
  const refused = loopbackOnly()
  // Loaded after the guard stands, because packages may send something when they are loaded.
  const [{ Ledger }, { startTroupe }, { startRuntime }, { FrontEnd }, { TALKING }, { STOPPING }, { WIRE, caller }] =
    await Promise.all([
      import('./ledger.mjs'),
      import('./troupe.mjs'),
      import('./runtime.mjs'),
      import('./front-end.mjs'),
      import('./talking.mjs'),
      import('./stopping.mjs'),
      import('./wire.mjs'),
    ])
  const begun = performance.now()
  const ledger = new Ledger()
  const troupe = await startTroupe()
  const runtime = await startRuntime(troupe.urls)
  try {
    await ledger.check('guard: a request to elsewhere is refused and counted', async () => {
      const answers = await Promise.allSettled([fetch(`http://${ELSEWHERE}`), fetch(`https://${ELSEWHERE}`)])
      assert.ok(answers.every(({ status }) => status === 'rejected'))
      assert.deepEqual(refused.splice(0), [`${ELSEWHERE}:80`, `${ELSEWHERE}:443`])
    })
    for (const transport of ['rest', 'single']) {
      const call = caller(runtime, transport)
      const open = (options) => new FrontEnd({ url: runtime[transport], transport, ...options })
      for (const [name, check] of Object.entries(WIRE)) await ledger.check(`${transport}: ${name}`, () => check(call))
      for (const [name, check] of Object.entries({ ...TALKING, ...STOPPING })) {
        await ledger.check(`${transport}: ${name}`, () => check(open))
      }
    }
    await ledger.check('guard: no request has left this machine', async () => {
      assert.deepEqual(refused, [])
    })
  } finally {
    runtime.stop()
    troupe.stop()
  }
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
  console.log(`\n${ledger.passed} passed, ${ledger.failed} failed, ${seconds} s`)
  return ledger.failed === 0
}
