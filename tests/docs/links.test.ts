import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './guide.fixture.ts'

const FOLDERS = '{packages,apps,bench,examples,tests}'
const pages = globSync(
  `{*.md,docs/**/*.md,apps/site/pages/**/*.md,skills/**/*.md,${FOLDERS}/{,*/}README.md,tests/compat/*/README.md}`,
  { cwd: root },
)
const read = (page: string) => readFileSync(join(root, page), 'utf8')

/** The links of a page to files of this repository, without those in its code blocks. */
function linksOf(page: string): string[] {
  const prose = read(page).replaceAll(/^```.*?^```/gms, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link).filter((link) => !/^\w+:/.test(link))
}

/** The anchors of a page: what a heading says (`{#tools}`), or else what GitHub derives from it. */
function anchorsOf(page: string): string[] {
  const headings = [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  return headings.map((heading) =>
    (/\{#([\w-]+)\}$/.exec(heading)?.[1] ?? heading)
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\- ]/gu, '')
      .replaceAll(' ', '-'),
  )
}

it.each(pages)('%s: every link leads somewhere', (page) => {
  const broken = linksOf(page).filter((link) => {
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? page : normalize(join(dirname(page), path))
    if (!existsSync(join(root, target))) return true
    return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).includes(anchor)
  })
  expect(broken).toEqual([])
})

it.each(['README.md', 'README.zh-CN.md'])('%s leads to every guide', (page) => {
  const guides = globSync('docs/*.md', { cwd: root })
  expect(guides.length).toBeGreaterThan(20)
  const chinese = (guide: string) => guide.replace('docs/', 'docs/zh/')
  const links = linksOf(page)
  const led = (guide: string) =>
    links.includes(page === 'README.zh-CN.md' && existsSync(join(root, chinese(guide))) ? chinese(guide) : guide)
  expect(guides.filter((guide) => !led(guide))).toEqual([])
})
