import { unpackChromium } from './chromium.fixture.ts'

/** Unpacks Chromium before the first test of a browser, because the tests run beside each other. Contract: what is wrong with it, the tests say. */
export async function setup(): Promise<void> {
  if (process.env.TROUPE_NO_BROWSER !== '1') await unpackChromium().catch(() => undefined)
}
