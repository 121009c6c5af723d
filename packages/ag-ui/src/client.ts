export type { ResumableFetch, ResumableFetchOptions } from './browser/resumable-fetch.ts'
export { resumableFetch } from './browser/resumable-fetch.ts'
export type { ResumableHttpAgentConfig } from './browser/resumable-http-agent.ts'
export { ResumableHttpAgent } from './browser/resumable-http-agent.ts'
