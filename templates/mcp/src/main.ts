import { dirname } from 'node:path'
import { mcpHttpServer, serveStdio } from '@troupe/mcp/server/node'
import { readConfig, USAGE } from './config.ts'
import { closeApp, createApp } from './container.ts'

/** The folder of the app, from which its files are found: a host may start it anywhere. */
const folder = dirname(import.meta.dirname)

/** Serves the agent until the process is told to stop, or the host has left. */
async function main(): Promise<void> {
  process.chdir(folder)
  const config = readConfig(process.argv.slice(2), process.env, folder)
  if (!config) return console.log(USAGE)
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const app = createApp(config)
  try {
    const { mcp, model } = app.cradle
    if (config.stdio) {
      await using server = serveStdio(mcp)
      await Promise.race([stopped, server.closed])
    } else {
      const server = await mcpHttpServer(mcp, { port: config.port })
      console.log(`The agent is at ${server.url}; the ${model.name} model answers. Ctrl-C stops it.`)
      await stopped
      await server.stop()
    }
  } finally {
    await closeApp(app)
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

try {
  await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
