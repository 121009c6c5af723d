import { type ChatModel, type ModelPart, pipe, stream } from '@troupe/kernel'
import { aiSdkModel } from '@troupe/model-ai-sdk'
import type { VendorModel } from '../config.ts'

/** One package per vendor, loaded with the first call of its model. */
const LOADERS: Record<VendorModel['vendor'], (model: VendorModel) => Promise<ChatModel>> = {
  openai: async ({ model }) => aiSdkModel((await import('@ai-sdk/openai')).openai(model)),
  anthropic: async ({ model }) => aiSdkModel((await import('@ai-sdk/anthropic')).anthropic(model)),
  google: async ({ model }) => aiSdkModel((await import('@ai-sdk/google')).google(model)),
  ollama: async ({ model, ollamaUrl: baseURL }) => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    return aiSdkModel(createOpenAICompatible({ name: 'ollama', baseURL })(model))
  },
}

/** A vendor's model. */
export function vendorModel(choice: VendorModel): ChatModel {
  let loading: Promise<ChatModel> | undefined
  return {
    name: `${choice.vendor}:${choice.model}`,
    stream: (request, options) =>
      stream<ModelPart>(async (sink) => {
        loading ??= LOADERS[choice.vendor](choice)
        await pipe((await loading).stream(request, options), sink)
      }),
  }
}
