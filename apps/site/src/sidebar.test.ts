import { expect, it } from 'vitest'
import type { Page } from './pages.ts'
import { guideSidebar } from './sidebar.ts'

const page = (path: string, title = path): Page => ({ source: path, path, markdown: '', title, summary: '' })
const shown = (pages: readonly Page[], language: 'en' | 'zh' = 'en') =>
  guideSidebar(pages, language).flatMap(({ text, items = [] }) =>
    items.map((item) => `${text}: ${item.text} ${item.link}`),
  )

it('shows pages in the learning order, and what it does not know among the others of its kind', () => {
  const pages = [
    'docs/tools.md',
    'docs/brand-new.md',
    'docs/getting-started.md',
    'docs/recipes/b.md',
    'docs/recipes/index.md',
  ]
  expect(shown(pages.map((path) => page(path, 'T')))).toEqual([
    'Start: T /docs/getting-started',
    'One agent: T /docs/tools',
    'Write a plugin: T /docs/brand-new',
    'Recipes: T /docs/recipes/',
    'Recipes: T /docs/recipes/b',
  ])
})

it('shows every page once', () => {
  const paths = ['docs/tools.md', 'docs/x.md', 'docs/recipes/x.md', 'examples/x.md', 'apps/x.md', 'docs/decisions/1.md']
  const links = shown(paths.map((path) => page(path))).map((line) => line.split(' ').at(-1))
  expect(links.sort()).toEqual(paths.map((path) => `/${path.replace('.md', '')}`).sort())
})

it('is in Chinese where a page is translated', () => {
  const pages = [page('docs/tools.md', 'Tools'), page('zh/docs/tools.md', '工具'), page('docs/flow.md', 'Flow')]
  expect(shown(pages, 'zh')).toEqual(['单个智能体: 工具 /zh/docs/tools', '多个智能体与人: Flow /docs/flow'])
  expect(shown(pages)).toEqual(['One agent: Tools /docs/tools', 'Several agents and people: Flow /docs/flow'])
})
