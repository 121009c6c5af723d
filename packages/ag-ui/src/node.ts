export type { AgUiServer, AgUiServerOptions } from './http/ag-ui-server.ts'
export { agUiServer } from './http/ag-ui-server.ts'
export { toNodeListener } from './http/to-node-listener.ts'
