export { toNodeListener } from './http/node.ts'
export type { AgUiServer, AgUiServerOptions } from './http/server.ts'
export { agUiServer } from './http/server.ts'
