import { readFileSync } from 'node:fs'
import { transform } from 'esbuild'

/** What Node alone has, and what a worker and a strict page forbid: making code of text. */
const NAMES = [
  'process',
  'Buffer',
  'setImmediate',
  'clearImmediate',
  'global',
  'require',
  '__dirname',
  '__filename',
  'import.meta.dirname',
  'import.meta.filename',
  'eval',
  'Function',
]
const MARK = 'NODE_GLOBAL'
const define = Object.fromEntries(NAMES.map((name, index) => [name, `${MARK}.n${index}`]))

/** The names of that kind that a source uses as values and does not declare itself. */
export async function nodeGlobalsOf(code: string): Promise<readonly string[]> {
  const marked = await transform(code, { loader: 'ts', define })
  return [...marked.code.matchAll(new RegExp(`${MARK}\\.n(\\d+)`, 'g'))].map(([, index]) => NAMES[Number(index)] ?? '')
}

/** The same for files, each with its path. */
export async function nodeGlobalsIn(paths: readonly string[]): Promise<readonly string[]> {
  const found = paths.map(async (path) =>
    (await nodeGlobalsOf(readFileSync(path, 'utf8'))).map((name) => `${name} in ${path}`),
  )
  return (await Promise.all(found)).flat()
}
