import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const PAGE = fileURLToPath(new URL('page.tsx', import.meta.url))
const STYLE = fileURLToPath(import.meta.resolve('@troupe/react/style.css'))

const HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<title>Parts</title>
<link rel="icon" href="data:," />
<link rel="stylesheet" href="/style.css" />
<style>
  :root { color-scheme: light dark; background: var(--troupe-paper); color: var(--troupe-ink); font-family: sans-serif }
  body { margin: 0 }
  .page { display: grid; grid-template: 100dvh / 14rem minmax(0, 1fr) 20rem }
  main { position: relative; min-height: 0 }
  aside { padding: 1rem; overflow: auto }
  @media (max-width: 50rem) { .page { grid-template: 100dvh / minmax(0, 1fr) } .page > .troupe-threads, aside { display: none } }
</style>
<div id="root"></div>
<script type="module" src="/page.js"></script>
</html>`

/** A page that is built from the parts, with a version of React. */
export interface ServedPage extends AsyncDisposable {
  readonly url: string
}

/** Builds the page and serves it on loopback. */
export async function servePage(react: '18' | '19'): Promise<ServedPage> {
  const aliases = { react: 'react-18', 'react-dom': 'react-dom-18' }
  const { outputFiles } = await build({
    entryPoints: [PAGE],
    bundle: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    ...(react === '18' && {
      alias: Object.fromEntries(
        Object.entries(aliases).map(([name, alias]) => [
          name,
          fileURLToPath(new URL('.', import.meta.resolve(`${alias}/package.json`))),
        ]),
      ),
    }),
  })
  const files: Readonly<Record<string, readonly [type: string, text: string]>> = {
    '/': ['text/html', HTML],
    '/page.js': ['text/javascript', outputFiles[0]?.text ?? ''],
    '/style.css': ['text/css', await readFile(STYLE, 'utf8')],
  }
  const server = createServer(({ url = '/' }, response) => {
    const [type, text] = files[url.split('?')[0] ?? ''] ?? ['text/plain', '']
    response.setHeader('content-type', type).end(text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
