import { useData, withBase } from 'vitepress'
import { defineComponent, h } from 'vue'

/** Leads to the same page in the other language, or to its home if there is no such page. */
export const LanguageLink = defineComponent({
  name: 'LanguageLink',
  setup() {
    const { frontmatter, lang } = useData()
    return () => {
      const isChinese = lang.value.startsWith('zh')
      const place = frontmatter.value.translation ?? (isChinese ? '/' : '/zh/')
      const href = withBase(place.endsWith('/') ? place : `${place}.html`)
      const language = isChinese ? 'en' : 'zh-CN'
      return h('a', { class: 'language', href, lang: language, hreflang: language }, isChinese ? 'English' : '中文')
    }
  },
})
