/** The order in which the site shows its pages. */
import type { DefaultTheme } from 'vitepress'
import type { ApiPage } from './api/topics.ts'
import { addressOf, type Page } from './pages.ts'

/** A part of the sidebar: its title in English and Chinese, and its pages by their place on the site. */
interface Part {
  readonly title: string
  readonly chinese: string
  /** The pages in their order. A pattern stands for all pages that match and are not listed anywhere. */
  readonly pages: readonly (string | RegExp)[]
  readonly collapsed?: boolean
}

/** The learning order. */
const PARTS: readonly Part[] = [
  {
    title: 'Start',
    chinese: '开始',
    pages: [
      'docs/getting-started',
      'docs/concepts',
      'docs/two-hundred-lines',
      'docs/install-only-what-you-need',
      /^docs\/(?:copy-an-app|start-an-app|from-a-template|create-an-app)$/,
      'docs/typescript',
    ],
  },
  {
    title: 'One agent',
    chinese: '单个智能体',
    pages: [
      'docs/tools',
      'docs/values-for-tools',
      'docs/handlers',
      'docs/structured-output',
      'docs/retries-and-fallbacks',
      'docs/attachments',
      'docs/context',
      'docs/prompt-caching',
      'docs/memory',
      'docs/budgets',
      'docs/guardrails',
      'docs/testing',
    ],
  },
  {
    title: 'Several agents and people',
    chinese: '多个智能体与人',
    pages: ['docs/flow', 'docs/questions', 'docs/subagents'],
  },
  {
    title: 'Serve and run',
    chinese: '服务与运行',
    pages: [
      'docs/persistence',
      'docs/ag-ui',
      'docs/react',
      'docs/mcp',
      'docs/observability',
      'docs/deploying',
      'docs/security',
      'docs/browser-and-workers',
    ],
  },
  {
    title: 'Write a plugin',
    chinese: '编写插件',
    pages: ['docs/plugins', 'docs/publish-a-plugin', /^docs\/[\w-]+$/],
  },
  { title: 'Recipes', chinese: '示例配方', pages: ['docs/recipes/index', /^docs\/recipes\//], collapsed: true },
  {
    title: 'Coming from',
    chinese: '从其他框架迁移',
    pages: ['docs/coming-from', /^docs\/coming-from\//],
    collapsed: true,
  },
  {
    title: 'Look up',
    chinese: '查阅',
    pages: ['docs/errors', 'docs/events', 'docs/ag-ui-events', 'docs/run-context'],
  },
  { title: 'Packages', chinese: '软件包', pages: ['packages/index', /^packages\//], collapsed: true },
  {
    title: 'Examples and apps',
    chinese: '示例与应用',
    pages: ['examples/index', /^examples\//, /^templates\//, 'apps/index', /^apps\//],
    collapsed: true,
  },
  {
    title: 'Benchmarks',
    chinese: '性能',
    pages: ['bench/peers', 'bench/peers-storage', 'bench/index', /^bench\//, 'faults'],
    collapsed: true,
  },
  {
    title: 'The project',
    chinese: '项目',
    pages: ['changelog', 'contributing', 'docs/decisions/index', /^docs\/decisions\//],
    collapsed: true,
  },
]

/** The sidebar of the guides. `language` chooses titles; a page that is not translated is shown in English. */
export function guideSidebar(pages: readonly Page[], language: 'en' | 'zh'): DefaultTheme.SidebarItem[] {
  const byPlace = new Map(pages.map((page) => [page.path.replace(/\.md$/, ''), page]))
  const listed = new Set(PARTS.flatMap((part) => part.pages.filter((page) => typeof page === 'string')))
  const places = [...byPlace.keys()].filter((place) => !place.startsWith('zh/') && !listed.has(place))
  const taken = new Set<string>()
  const placesOf = (page: string | RegExp): readonly string[] => {
    if (typeof page === 'string') return byPlace.has(page) ? [page] : []
    const found = places.filter((place) => page.test(place) && !taken.has(place))
    for (const place of found) taken.add(place)
    return found
  }
  // A pattern takes what later ones would match too.
  const items = PARTS.map((part) => ({ part, places: part.pages.flatMap(placesOf) }))
  return items
    .filter(({ places }) => places.length > 0)
    .map(({ part, places }) => ({
      text: language === 'zh' ? part.chinese : part.title,
      // A part that can be closed is a link itself: a button in a button cannot be used without a mouse.
      ...(part.collapsed && { collapsed: true, link: addressOf(byPlace.get(places[0] ?? '')?.path ?? '') }),
      items: places.map((place) => itemOf(byPlace, place, language)),
    }))
}

function itemOf(byPlace: ReadonlyMap<string, Page>, place: string, language: 'en' | 'zh'): DefaultTheme.SidebarItem {
  const translated = language === 'zh' ? byPlace.get(`zh/${place}`) : undefined
  const page = translated ?? byPlace.get(place)
  return { text: page?.title ?? place, link: addressOf(page?.path ?? place) }
}

/** The sidebar of the API reference: the packages, each with its pages. */
export function apiSidebar(apiPages: readonly ApiPage[]): DefaultTheme.SidebarItem[] {
  const byPackage = Object.groupBy(apiPages, ({ entryName }) => entryName.split('/').slice(0, 2).join('/'))
  const packages = Object.entries(byPackage).map(([name, own = []]) => ({
    text: name,
    link: `/api/${own[0]?.path}`,
    ...(own.length > 1 && { collapsed: true, items: own.map(apiItem) }),
  }))
  return [{ text: 'API reference', link: '/api/', items: packages }]
}

function apiItem({ title, path, entryName }: ApiPage): DefaultTheme.SidebarItem {
  const subpath = entryName.split('/').slice(2).join('/')
  return { text: title === entryName && subpath ? `/${subpath}` : title, link: `/api/${path}` }
}
