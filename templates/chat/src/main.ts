import { createApp } from './container.ts'
import { buildPage, servePageSources } from './page.ts'
import { startServer } from './server.ts'

/** How long active runs may go on after Ctrl-C. */
const GRACE_MS = 2_000

/** Builds the page, serves it and the agent, and stops on SIGINT or SIGTERM. With `--dev` the page is served from its sources. */
async function main(): Promise<void> {
  const isDev = process.argv.includes('--dev')
  const port = Number(process.env.PORT || 8000)
  const app = createApp()
  const { model } = app.cradle
  const server = await startServer(app, { port, ...(!isDev && { page: await buildPage() }) })
  const sources = isDev ? await servePageSources(server.url) : undefined
  console.log(`${sources?.url ?? server.url} (the ${model.name} model answers; Ctrl-C stops the app)`)
  await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve))
  await sources?.close()
  await server.stop(GRACE_MS)
}

try {
  await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
