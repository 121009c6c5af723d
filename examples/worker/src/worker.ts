import { deskHandler } from './desk-handler.ts'

const handler = deskHandler((line) => console.log(JSON.stringify(line)))

/** The module worker that Cloudflare Workers and workerd call for each request. */
// biome-ignore lint/style/noDefaultExport: a worker is the default export of its module
export default { fetch: (request: Request, _env: unknown, ctx: unknown): Promise<Response> => handler(request, ctx) }
