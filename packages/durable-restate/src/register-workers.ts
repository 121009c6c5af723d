import { KernelError } from '@troupe/kernel'
import { sleep, systemClock } from '@troupe/kernel/kit'

const PAUSE_MS = 250

/** Tells Restate where the workers are. */
export interface RegisterOptions {
  /** The address of Restate's admin API: `http://restate:9070`. */
  readonly admin: string
  /** The one address of all workers with the same code, such as that of a load balancer: `http://workers:9080`. */
  readonly workers: string
  /** Whether the code behind an address that is registered may have changed. @default true */
  readonly force?: boolean
  /** How long Restate and the workers may take to come up. @default 30_000 */
  readonly waitMs?: number
}

/**
 * Registers the address of workers with Restate, once for each version of their code.
 * Contract: another address with the same agents is a new version: new runs go there, and runs that have begun stay where they are.
 * @example await registerWorkers({ admin: 'http://restate:9070', workers: 'http://workers:9080' })
 */
export async function registerWorkers({
  admin,
  workers,
  force = true,
  waitMs = 30_000,
}: RegisterOptions): Promise<void> {
  const url = `${admin.endsWith('/') ? admin.slice(0, -1) : admin}/deployments`
  for (let waited = 0; ; waited += PAUSE_MS) {
    const refusal = await register(url, { uri: workers, force })
    if (refusal === undefined) return
    if (waited >= waitMs) {
      throw new KernelError('ENGINE_UNAVAILABLE', `restate: cannot register ${workers} with ${admin}, got ${refusal}`, {
        retryable: true,
      })
    }
    await sleep(systemClock, PAUSE_MS)
  }
}

/** Contract: gives why it was refused. */
async function register(
  url: string,
  body: { readonly uri: string; readonly force: boolean },
): Promise<string | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    return response.ok ? undefined : `${response.status} ${text.slice(0, 200)}`
  } catch (error) {
    return KernelError.from(error).message
  }
}
