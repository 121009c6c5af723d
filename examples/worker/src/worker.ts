import { deskHandler } from './handler.ts'

const handler = deskHandler((line) => console.log(JSON.stringify(line)))

/** A module worker: what Cloudflare Workers and workerd call for each request. */
// biome-ignore lint/style/noDefaultExport: a worker is what its module exports by default
export default { fetch: (request: Request, _env: unknown, ctx: unknown): Promise<Response> => handler(request, ctx) }
