import { defineTool, KernelError, type Tool } from '@troupe/kernel'
import { checkOption } from '@troupe/kernel/kit'

/** What may be read, and how much of it. */
export interface WebPageOptions {
  /** The hosts that may be read, with the port if it is not the usual one: `en.wikipedia.org`, `127.0.0.1:8080`. */
  readonly hosts: readonly string[]
  /** Text beyond it is cut off. @default 20000 */
  readonly maxChars?: number
  /** @default the global fetch */
  readonly fetch?: typeof globalThis.fetch
}

/**
 * Makes a tool that reads a page of the web as text.
 * Contract: asks no other host, follows no redirect, and ends with the run's signal.
 * @example chatModelAgent({ name: 'reader', model, tools: [webPage({ hosts: ['en.wikipedia.org'] })] })
 */
export function webPage(options: WebPageOptions): Tool<{ url: string }> {
  const { hosts, maxChars = 20_000, fetch = globalThis.fetch } = options
  checkOption(Array.isArray(hosts) && hosts.length > 0, 'webPage', 'hosts names the hosts that may be read', hosts)
  checkOption(Number.isInteger(maxChars) && maxChars > 0, 'webPage', 'maxChars is a whole number from 1 on', maxChars)
  return defineTool({
    name: 'web_page',
    description: `Reads a page of the web as text. These hosts can be read: ${hosts.join(', ')}.`,
    parameters: {
      type: 'object',
      properties: { url: { type: 'string', description: 'The whole address, with http or https.' } },
      required: ['url'],
      additionalProperties: false,
    },
    kind: 'read',
    effect: 'idempotent',
    async invoke({ url }, { signal }) {
      const response = await fetch(allowed(url, hosts), { signal, redirect: 'manual', headers: { accept: 'text/*' } })
      if (!response.ok) {
        await response.body?.cancel()
        throw new KernelError('TOOL_FAILED', `webPage: ${url} answers with status ${response.status}`)
      }
      const text = plainText(await response.text())
      return { content: text.slice(0, maxChars), data: { url, cut: text.length > maxChars } }
    },
  })
}

function allowed(url: string, hosts: readonly string[]): URL {
  if (!URL.canParse(url)) throw new KernelError('TOOL_FAILED', `webPage: expected an address, got ${url}`)
  const target = new URL(url)
  if (/^https?:$/.test(target.protocol) && hosts.includes(target.host)) return target
  throw new KernelError('TOOL_FAILED', `webPage: ${target.host} cannot be read, only ${hosts.join(', ')}`)
}

/** The words of a page, without its markup. */
function plainText(html: string): string {
  return html
    .replaceAll(/<(script|style)\b.*?<\/\1\s*>/gis, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
