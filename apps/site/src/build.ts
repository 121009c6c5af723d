/** Builds the site into `dist`. `--base /troupe/` is for a site that is not at the root of its host. */
import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { build } from 'vitepress'
import { deadLinksIn } from './check-links.ts'
import { linkMarkdownCopies } from './markdown-copies.ts'
import { OUT, prepare, SITE } from './prepare.ts'

const { values } = parseArgs({ options: { base: { type: 'string', default: '/' } } })
const begun = performance.now()
rmSync(OUT, { recursive: true, force: true })
await prepare()
await build(SITE, { base: values.base })
const dead = [...deadLinksIn(OUT, values.base), ...linkMarkdownCopies(OUT)]
if (dead.length > 0) throw new Error(`dead links in the built pages:\n${dead.join('\n')}`)
console.log(`${OUT}: built in ${((performance.now() - begun) / 1000).toFixed(1)} s`)
