import type { Readable, Writable } from 'node:stream'
import { StdioServerTransport, serveStdio as serve } from '@modelcontextprotocol/server/stdio'
import { KernelError as Failure, type KernelError } from '@troupe/kernel'
import { checkOption, checkOptionNames, safeReport } from '@troupe/kernel/kit'
import type { McpHandler } from '../mcp-server.ts'
import { checkHandler } from './to-node-listener.ts'

/** The options of a server over stdio. */
export interface StdioOptions {
  /** @default process.stdin */
  readonly input?: Readable
  /** @default process.stdout */
  readonly output?: Writable
  /** Receives errors of the connection. @default console.error, which writes to stderr */
  readonly report?: (error: KernelError) => void
}

/** A server over stdio. */
export interface StdioServer extends AsyncDisposable {
  /** Resolves when the client has left and everything has ended. */
  readonly closed: Promise<void>
}

/** The largest message that a client may send. */
const MESSAGE_BYTES = 4_194_304

/**
 * Serves a handler to the process that has started this one.
 * Contract: needs an `owner`, because nobody signs in over stdio; when the client leaves, its calls are cancelled. Write nothing else to stdout.
 * @example await serveStdio(mcpServer({ runner: runner({ agent, store }), store, owner: { app: 'shop', user: 'me' } })).closed
 */
export function serveStdio(handler: McpHandler, options: StdioOptions = {}): StdioServer {
  checkHandler('serveStdio', handler)
  checkOptionNames('serveStdio', options, { input: true, output: true, report: true })
  checkOption(
    !handler.authenticates,
    'serveStdio',
    'expected a handler with owner, because nobody signs in here',
    handler,
  )
  const { input = process.stdin, output = process.stdout } = options
  const report = safeReport(options.report)
  const transport = new StdioServerTransport(input, output, { maxBufferSize: MESSAGE_BYTES })
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const server = serve(() => handler.serverFor(), { transport, onerror: (error) => report(Failure.from(error)) })
  const end = async () => {
    await server.close()
    await handler.stop(0)
    resolve()
  }
  const leave = () => void end().catch((error: unknown) => report(Failure.from(error)))
  input.once('end', leave)
  input.once('close', leave)
  return { closed, [Symbol.asyncDispose]: end }
}
