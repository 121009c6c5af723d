import { readFile } from 'node:fs/promises'
import { extname, join, normalize, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, createServer } from 'vite'

const PAGE = fileURLToPath(new URL('../page', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Builds the page. Gives its folder. */
export async function buildPage(outDir: string = fileURLToPath(new URL('../dist', import.meta.url))): Promise<string> {
  await build({
    root: PAGE,
    configFile: false,
    // Libraries for server components have marks that a page does not need, and Vite warns of each.
    logLevel: 'error',
    build: { outDir, emptyOutDir: true, chunkSizeWarningLimit: 1_500 },
  })
  return outDir
}

/** Serves the page from its sources, and loads it again when they change. Its requests to the agent go to `url`. */
export async function servePageSources(url: string): Promise<{ readonly url: string; close(): Promise<void> }> {
  const proxy = { '/agent': { target: url, changeOrigin: true } }
  const vite = await createServer({ root: PAGE, configFile: false, server: { host: '127.0.0.1', proxy } })
  await vite.listen()
  return { url: vite.resolvedUrls?.local[0] ?? url, close: () => vite.close() }
}

/** Answers with a file of the built page. Nothing outside of its folder. */
export async function pageFile(folder: string, { method, url }: Request): Promise<Response> {
  if (method !== 'GET') return new Response('Method not allowed.', { status: 405 })
  const { pathname } = new URL(url)
  const path = normalize(join(folder, pathname === '/' ? 'index.html' : pathname))
  const type = TYPES[extname(path)]
  const body = type && path.startsWith(folder + sep) ? await readFile(path).catch(() => undefined) : undefined
  if (!type || !body) return new Response('Not found.', { status: 404 })
  // What a model writes cannot make the page load anything from elsewhere.
  const policy = "img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'"
  return new Response(new Uint8Array(body), {
    headers: { 'content-type': type, 'content-security-policy': policy, 'x-content-type-options': 'nosniff' },
  })
}
