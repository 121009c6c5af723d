export type { AiSdkModelOptions } from './ai-sdk-model.ts'
export { aiSdkModel } from './ai-sdk-model.ts'
