import { builtinModules } from 'node:module'
import { basename, resolve } from 'node:path'

/** Names that npm refuses, besides those of Node's own modules. */
const REFUSED = new Set([...builtinModules, 'node_modules', 'favicon.ico'])

/**
 * Names a package after its folder: `My App` becomes `my-app`.
 * Contract: npm accepts the name, and none of the `taken` packages has it; a folder without a letter or digit that npm accepts gives `my-app`.
 */
export function packageName(folder: string, taken: ReadonlySet<string>): string {
  const letters = basename(resolve(folder)).normalize('NFKD').toLowerCase().replaceAll(/\p{M}/gu, '')
  let name = letters
    .replaceAll(/[^a-z0-9._~-]+/g, '-')
    .replace(/^[._~-]+/, '')
    .slice(0, 210)
  while (/[._~-]$/.test(name)) name = name.slice(0, -1)
  if (name === '') return 'my-app'
  return REFUSED.has(name) || taken.has(name) ? `${name}-app` : name
}
