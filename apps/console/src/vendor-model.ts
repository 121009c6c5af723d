import { type ChatModel, type ModelPart, pipe, stream } from '@troupe/kernel'
import { aiSdkModel } from '@troupe/model-ai-sdk'
import type { VendorModel } from './config.ts'

/** A vendor's model; its package is loaded with the first call, so that nobody waits for the others. */
export function vendorModel({ vendor, model, ollamaUrl }: VendorModel): ChatModel {
  let loading: Promise<ChatModel> | undefined
  return {
    name: `${vendor}:${model}`,
    stream: (request, options) =>
      stream<ModelPart>(async (sink) => {
        loading ??= load(vendor, model, ollamaUrl)
        const chat = await loading
        await pipe(chat.stream(request, options), sink)
      }),
  }
}

async function load(vendor: VendorModel['vendor'], model: string, ollamaUrl: string): Promise<ChatModel> {
  switch (vendor) {
    case 'openai':
      return aiSdkModel((await import('@ai-sdk/openai')).openai(model))
    case 'anthropic':
      return aiSdkModel((await import('@ai-sdk/anthropic')).anthropic(model))
    case 'google':
      return aiSdkModel((await import('@ai-sdk/google')).google(model))
    case 'ollama': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      return aiSdkModel(createOpenAICompatible({ name: 'ollama', baseURL: ollamaUrl })(model))
    }
  }
}
