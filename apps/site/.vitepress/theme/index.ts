import '@fontsource-variable/instrument-sans/wght.css'
import '@fontsource-variable/instrument-sans/wght-italic.css'
import '@fontsource/instrument-serif/400.css'
import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { h } from 'vue'
import { HomePage } from './home-page.ts'
import { LanguageLink } from './language-link.ts'
import './style.css'

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => void app.component('HomePage', HomePage),
  Layout: () =>
    h(DefaultTheme.Layout, undefined, {
      'nav-bar-content-after': () => h(LanguageLink),
      'nav-screen-content-after': () => h(LanguageLink),
    }),
} satisfies Theme
