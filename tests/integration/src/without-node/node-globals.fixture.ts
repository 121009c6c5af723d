import { readFileSync } from 'node:fs'
import { transform } from 'esbuild'

/** Globals that only Node has, and those that make code from text, which a worker and a strict page forbid. */
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

/** Lists those globals that a source uses and does not declare itself. */
export async function nodeGlobalsOf(code: string): Promise<readonly string[]> {
  const marked = await transform(code, { loader: 'ts', define })
  return [...marked.code.matchAll(new RegExp(`${MARK}\\.n(\\d+)`, 'g'))].map(([, index]) => NAMES[Number(index)] ?? '')
}

/** Lists those globals in files, each with its path. */
export async function nodeGlobalsIn(paths: readonly string[]): Promise<readonly string[]> {
  const found = paths.map(async (path) =>
    (await nodeGlobalsOf(readFileSync(path, 'utf8'))).map((name) => `${name} in ${path}`),
  )
  return (await Promise.all(found)).flat()
}
