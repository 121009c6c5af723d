/** Serves the site while its pages are written: a change of a page of the repository is shown at once. */
import { watch } from 'node:fs'
import { join } from 'node:path'
import { createServer } from 'vitepress'
import { prepare, prepareAgain, SITE } from './prepare.ts'
import { root } from './repository.ts'

const WATCHED = ['docs', 'packages', 'examples', 'apps', 'bench']

const site = await prepare()
const server = await createServer(SITE)
await server.listen()
console.log(server.resolvedUrls?.local[0])

let timer: NodeJS.Timeout | undefined
for (const folder of WATCHED)
  watch(join(root, folder), { recursive: true }, (_, file) => {
    if (!file?.endsWith('.md') || /(?:^|[\\/])(?:node_modules|generated|dist)[\\/]/.test(file)) return
    clearTimeout(timer)
    timer = setTimeout(show, 100)
  })

/** While somebody writes, a dead link is reported, and the server goes on. */
function show(): void {
  try {
    prepareAgain(site)
  } catch (error) {
    console.error(String(error))
  }
}
