export { loadAgents } from './registry/load-agents.ts'
