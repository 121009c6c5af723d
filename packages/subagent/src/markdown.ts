export type { LoadedAgents } from './registry/load-agents.ts'
export { loadAgents } from './registry/load-agents.ts'
export { parseAgent } from './registry/parse-agent.ts'
