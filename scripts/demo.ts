/** `pnpm demo` opens the assistant in a browser; with a question or an option it runs the console. */
const app = process.argv.length > 2 ? 'console' : 'assistant'
await import(new URL(`../apps/${app}/src/main.ts`, import.meta.url).href)

export {}
