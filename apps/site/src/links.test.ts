import { describe, expect, it } from 'vitest'
import { Linker } from './links.ts'
import type { Page } from './pages.ts'
import { readPages } from './pages.ts'
import { webAddress } from './repository.ts'

const page = (source: string, path: string, markdown: string): Page => ({
  source,
  path,
  markdown,
  title: '',
  summary: '',
})
const tools = page('docs/tools.md', 'docs/tools.md', '# Tools\n\n## Ask a person')
const flow = page('packages/flow/README.md', 'packages/flow.md', '# Flow')

/** Links a page of `docs` beside the two above. */
function link(markdown: string, repository?: string) {
  return new Linker([tools, flow], repository).link(page('docs/handlers.md', 'docs/handlers.md', markdown))
}

describe('a link of a page', () => {
  it('to a file that is a page leads to that page, with its section', () => {
    const { markdown, deadLinks } = link(
      '[a](tools.md#ask-a-person), [b](../packages/flow), [c](../packages/flow/README.md)',
    )
    expect(markdown).toBe('[a](/docs/tools.md#ask-a-person), [b](/packages/flow.md), [c](/packages/flow.md)')
    expect(deadLinks).toEqual([])
  })

  it('to another file or folder leads into the repository', () => {
    expect(link('[a](../package.json) [b](../scripts/)', 'https://example.org/troupe').markdown).toBe(
      '[a](https://example.org/troupe/blob/main/package.json) [b](https://example.org/troupe/tree/main/scripts)',
    )
  })

  it('to another file is plain text as long as the repository has no address', () => {
    expect(link('[a](../package.json)').markdown).toBe('a')
  })

  it('to an image brings the image', () => {
    const { markdown, images } = link('![The assistant](assistant.png)')
    expect(markdown).toBe('![The assistant](/docs/assistant.png)')
    expect(images).toEqual(['docs/assistant.png'])
  })

  it('to another host stays as it is', () => {
    expect(link('[a](https://example.org/#x)').markdown).toBe('[a](https://example.org/#x)')
  })

  it('to a file, a section or a place outside of the repository that does not exist is dead', () => {
    expect(link('[a](nothing.md) [b](tools.md#nothing) [c](../../x.md)').deadLinks).toEqual([
      'docs/handlers.md: nothing.md: no such file',
      'docs/handlers.md: tools.md#nothing: docs/tools.md has no such section',
      'docs/handlers.md: ../../x.md: no such file',
    ])
  })
})

it('a link of a Chinese page leads to a Chinese page, or to the English one if there is no other', () => {
  const chinese = page('docs/zh/tools.md', 'zh/docs/tools.md', '# 工具')
  const { markdown } = new Linker([tools, flow, chinese], undefined).link(
    page('docs/zh/handlers.md', 'zh/docs/handlers.md', '[a](../tools.md), [b](../../packages/flow)'),
  )
  expect(markdown).toBe('[a](/zh/docs/tools.md), [b](/packages/flow.md)')
})

it('no page of the site has a dead link', () => {
  const pages = readPages()
  const linker = new Linker(pages, undefined)
  expect(pages.length).toBeGreaterThan(80)
  expect(pages.flatMap((page) => linker.link(page).deadLinks)).toEqual([])
})

it('every page has a place, a title and a summary of its own', () => {
  const pages = readPages().filter(({ path }) => !/(?:^|\/)index\.md$/.test(path))
  expect(new Set(pages.map(({ path }) => path)).size).toBe(pages.length)
  expect(pages.filter(({ title }) => title === '').map(({ path }) => path)).toEqual([])
})

it.each([
  ['git+https://github.com/a/b.git', 'https://github.com/a/b'],
  ['github:a/b', 'https://github.com/a/b'],
  ['a/b', 'https://github.com/a/b'],
  ['git+ssh://git@gitlab.com/a/b.git', 'https://gitlab.com/a/b'],
  ['https://example.org/a/b', 'https://example.org/a/b'],
])('the repository %s is on the web at %s', (url, address) => {
  expect(webAddress(url)).toBe(address)
})
