/** What a package on npm says of itself beyond its manifest: where its source is, and the guides that its README links to. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, posix, relative, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
/** In every package, because an error may come from any of them. */
const ERRORS = 'errors.md'

/** The address of the repository on the web, from the manifest of the workspace. */
function webAddress() {
  const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return repository.url.replace(/^git\+/, '').replace(/\.git$/, '')
}

/** The fields with which npm finds the source of a package; provenance needs the first. */
export function sourceFields(folder) {
  const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const directory = relative(root, folder).replaceAll('\\', '/')
  return {
    homepage: `${webAddress()}/tree/main/${directory}#readme`,
    bugs: `${webAddress()}/issues`,
    repository: { ...repository, directory },
  }
}

/** Writes the guides of a package into its folder `docs`. Contract: links to what is not packed lead to the web. */
export function packDocs(folder) {
  const readme = readFileSync(join(folder, 'README.md'), 'utf8')
  const guides = new Set([...readme.matchAll(/\]\(\.\.\/\.\.\/docs\/([\w-]+\.md)/g)].map(([, name]) => name))
  guides.add(ERRORS)
  mkdirSync(join(folder, 'docs'))
  for (const name of guides) {
    const text = readFileSync(join(root, 'docs', name), 'utf8')
    writeFileSync(join(folder, 'docs', name), withWebLinks(text, guides))
  }
}

function withWebLinks(text, guides) {
  return text.replaceAll(/\]\((?!#|[a-z]+:)([^)\s#]+)(#[^)\s]*)?\)/g, (link, path, anchor = '') => {
    if (guides.has(path)) return link
    const target = posix.join('docs', path)
    const kind = basename(target).includes('.') ? 'blob' : 'tree'
    return `](${webAddress()}/${kind}/main/${target}${anchor})`
  })
}
