export { listen } from './node/listen.ts'
export type { HttpHandler } from './node/node-listener.ts'
export { nodeListener } from './node/node-listener.ts'
