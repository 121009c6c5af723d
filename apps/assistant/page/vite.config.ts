import { defineConfig, type Plugin } from 'vite'

/** zod tries whether it may compile code. It may not here, and asking would be reported as an error in every console. */
const noEval: Plugin = {
  name: 'no-eval',
  transform: (code, id) => (/\/zod\/.*\/util\.js$/.test(id) ? code.replace('new F("")', 'throw F') : undefined),
}

export default defineConfig({
  plugins: [noEval],
  build: {
    outDir: '../dist/page',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1_500,
    modulePreload: { polyfill: false },
  },
})
