import { readFile } from 'node:fs/promises'
import { extname, join, normalize, sep } from 'node:path'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** Allows only resources of this server, so that no request leaves the machine. */
const POLICY = "default-src 'self'; frame-ancestors 'none'"

/** Serves a file of the built page. Contract: nothing outside the folder, and only the file types of a page. */
export async function pageFile(folder: string, pathname: string): Promise<Response> {
  const path = normalize(join(folder, pathname === '/' ? 'index.html' : decodeURIComponent(pathname)))
  const type = TYPES[extname(path)]
  const body = type && path.startsWith(folder + sep) ? await readFile(path).catch(() => undefined) : undefined
  if (!type || !body) return new Response('Not found.', { status: 404 })
  const isNamedByContent = pathname.startsWith('/assets/')
  return new Response(new Uint8Array(body), {
    headers: {
      'content-type': type,
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'cache-control': isNamedByContent ? 'max-age=31536000, immutable' : 'no-cache',
    },
  })
}
