export { parseAgent } from './registry/parse-agent.ts'
