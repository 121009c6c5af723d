import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const SITE = resolve(import.meta.dirname, '../../../../apps/site')

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

/** Builds the site, which fails if a link of it is dead. */
export async function buildSite(): Promise<void> {
  await promisify(execFile)(process.execPath, ['--no-warnings', join(SITE, 'src/build.ts')], { maxBuffer: 1e8 })
}

/** Serves the built site as any host of static files does. */
export async function serveSite(): Promise<Server> {
  const server = createServer(async ({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://localhost')
    const path = pathname.endsWith('/') ? `${pathname}index.html` : pathname
    try {
      const body = await readFile(join(SITE, 'dist', decodeURIComponent(path)))
      response.setHeader('content-type', TYPES[extname(path)] ?? 'text/plain; charset=utf-8').end(body)
    } catch {
      response.writeHead(404, { 'content-type': 'text/html' }).end(await readFile(join(SITE, 'dist/404.html')))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** The address of a server. */
export function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
