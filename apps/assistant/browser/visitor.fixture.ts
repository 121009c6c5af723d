import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'

const ARTIFACTS = fileURLToPath(new URL('../artifacts', import.meta.url))
mkdirSync(ARTIFACTS, { recursive: true })

/** The visible text of elements. */
export async function shown(locator: Locator): Promise<string> {
  return (await locator.allInnerTexts()).join('\n')
}

/** Options of a visitor. */
export interface VisitorOptions {
  readonly width?: number
  readonly height?: number
  readonly colorScheme?: 'light' | 'dark'
  readonly hash?: string
}

/** A user with their own browser context on the page. */
export class Visitor implements AsyncDisposable {
  readonly page: Page
  /** Requests to other servers, and errors in the console. */
  readonly complaints: string[] = []
  readonly #context: BrowserContext

  private constructor(context: BrowserContext, page: Page, origin: string) {
    this.#context = context
    this.page = page
    page.on('request', (request) => {
      if (!request.url().startsWith(`${origin}/`)) this.complaints.push(`request to ${request.url()}`)
    })
    page.on('console', (message) => {
      // The page may cancel a run before the server has it, and then tries again.
      if (message.location().url.endsWith('/cancel')) return
      if (message.type() === 'error') this.complaints.push(`console: ${message.text()}`)
    })
    page.on('pageerror', (error) => this.complaints.push(`error: ${error.message}`))
  }

  static async at(browser: Browser, url: string, options: VisitorOptions = {}): Promise<Visitor> {
    const { width = 1360, height = 860, colorScheme = 'light', hash = '' } = options
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' })
    context.setDefaultTimeout(15_000)
    const visitor = new Visitor(context, await context.newPage(), url)
    await visitor.page.goto(`${url}/${hash}`)
    return visitor
  }

  /** Types something and sends it with the keyboard. */
  async say(text: string): Promise<void> {
    await this.page.getByLabel('Message').fill(text)
    await this.page.keyboard.press('Enter')
  }

  /** Clicks a suggestion. */
  suggest(text: string): Promise<void> {
    return this.page.getByLabel('Suggestions').getByRole('button', { name: text }).click()
  }

  /** Waits for something on the page. */
  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).filter({ visible: true }).first().waitFor()
  }

  /** Waits until nothing runs. */
  async idle(): Promise<void> {
    await this.page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  }

  /** The text of the conversation. */
  log(): Promise<string> {
    return shown(this.page.getByRole('log'))
  }

  async shot(name: string): Promise<void> {
    await this.page.evaluate('document.fonts.ready.then(() => undefined)')
    await this.page.screenshot({ path: `${ARTIFACTS}/${name}.png` })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close()
  }
}
