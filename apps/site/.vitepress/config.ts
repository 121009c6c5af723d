import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DefaultTheme, defineConfig } from 'vitepress'
import llmstxt from 'vitepress-plugin-llms'
import { withoutEmptyHeads } from '../src/empty-heads.ts'
import { slug } from '../src/markdown.ts'
import { words } from '../src/words.ts'

/** What `src/prepare.ts` has made. */
const { repository, sidebar, chineseSidebar, chineseStart } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../generated/site.json'), 'utf8'),
) as {
  repository?: string
  sidebar: DefaultTheme.SidebarMulti
  chineseSidebar: DefaultTheme.SidebarItem[]
  chineseStart: string
}

/** The words of the search on Chinese pages. */
const CHINESE_SEARCH = {
  button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
  modal: {
    displayDetails: '显示详情',
    resetButtonTitle: '清除',
    backButtonTitle: '关闭',
    noResultsText: '没有结果：',
    footer: { selectText: '选择', navigateText: '切换', closeText: '关闭' },
  },
}

export default defineConfig({
  title: 'Troupe',
  titleTemplate: ':title · Troupe',
  description:
    'A microkernel for LLM agents in TypeScript: a small package of contracts, and plugins that you install as you need them.',
  srcDir: 'generated/pages',
  outDir: 'dist',
  cacheDir: 'node_modules/.cache/vitepress',
  transformHead: ({ siteData }) => [['link', { rel: 'icon', href: `${siteData.base}mark.svg` }]],
  markdown: {
    anchor: { slugify: slug },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      // Prose and links may have the braces of Vue templates.
      const { text } = md.renderer.rules
      md.use(withoutEmptyHeads)
      // A table that is too wide scrolls, also by the keyboard.
      md.renderer.rules.table_open = () => '<table tabindex="0">\n'
      md.renderer.rules.text = (...args) => (text?.(...args) ?? '').replaceAll('{{', '&#123;&#123;')
    },
  },
  themeConfig: {
    logo: { src: '/mark.svg', alt: '' },
    search: {
      provider: 'local',
      options: { miniSearch: { options: { tokenize: words } }, locales: { zh: { translations: CHINESE_SEARCH } } },
    },
    outline: [2, 3],
    ...(repository && { socialLinks: [{ icon: 'github', link: repository }] }),
    nav: [
      { text: 'Guides', link: '/docs/getting-started', activeMatch: '^/docs/(?!recipes|coming-from|decisions)' },

      { text: 'Recipes', link: '/docs/recipes/', activeMatch: '^/docs/recipes/' },
      { text: 'Packages', link: '/packages/', activeMatch: '^/packages/' },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { text: 'Benchmarks', link: '/bench/peers', activeMatch: '^/bench/' },
    ],
    sidebar,
    externalLinkIcon: true,
  },
  locales: {
    root: { label: '', lang: 'en' },
    zh: {
      label: '',
      lang: 'zh-CN',
      themeConfig: {
        sidebar: chineseSidebar,
        nav: [
          { text: '指南', link: chineseStart, activeMatch: '^/zh/docs/' },
          { text: '软件包', link: '/packages/' },
          { text: 'API', link: '/api/' },
        ],
        outline: { level: [2, 3], label: '本页内容' },
        docFooter: { prev: '上一页', next: '下一页' },
        darkModeSwitchLabel: '外观',
        sidebarMenuLabel: '目录',
        returnToTopLabel: '回到顶部',
      },
    },
  },
  vite: {
    logLevel: 'warn',
    // Its esbuild does not know the target of the workspace.
    esbuild: { tsconfigRaw: '{}' },
    // The search is loaded when somebody searches.
    build: { chunkSizeWarningLimit: 3_000 },
    plugins: [
      // Its types are those of a newer Vite; what it uses is the same.
      llmstxt({
        injectLLMHint: false,
        excludeIndexPage: false,
        ignoreFiles: ['zh/**', 'docs/decisions/**', 'changelog.md', 'contributing.md'],
        ignoreFilesPerOutput: { llmsFullTxt: ['api/**', 'bench/**', 'faults.md'] },
      }) as never,
    ],
  },
})
