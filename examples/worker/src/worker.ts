import { deskHandler } from './handler.ts'

const handler = deskHandler()

/** A module worker: what Cloudflare Workers and workerd call for each request. */
// biome-ignore lint/style/noDefaultExport: this is how a worker says what it is
export default { fetch: (request: Request): Promise<Response> => handler(request) }
