import { Content, useData, withBase } from 'vitepress'
import { defineComponent, h, type VNode } from 'vue'

/** What the head of a home page says. */
interface Hero {
  readonly name: string
  readonly text: string
  readonly tagline: string
  readonly actions: readonly { readonly theme: string; readonly text: string; readonly link: string }[]
}

/** The home page: its head, and below it the text of the page. */
export const HomePage = defineComponent({
  name: 'HomePage',
  setup() {
    const { frontmatter } = useData()
    return () => h('main', { class: 'home' }, [heroOf(frontmatter.value.hero), h(Content, { class: 'vp-doc' })])
  },
})

function heroOf({ name, text, tagline, actions }: Hero): VNode {
  const buttons = actions.map((action) =>
    h('a', { class: `button ${action.theme}`, href: withBase(pageAt(action.link)) }, action.text),
  )
  return h('header', { class: 'hero' }, [
    h('h1', [h('span', { class: 'name' }, `${name}. `), text]),
    h('p', { class: 'tagline' }, tagline),
    h('p', { class: 'actions' }, buttons),
  ])
}

function pageAt(link: string): string {
  return link.endsWith('/') ? link : `${link}.html`
}
