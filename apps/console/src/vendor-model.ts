import { type ChatModel, type ModelPart, pipe, stream } from '@troupe/kernel'
import { aiSdkModel } from '@troupe/model-ai-sdk'
import type { VendorModel } from './config.ts'

/** A vendor's model; its package is loaded with the first call, so that nobody waits for the others. */
export function vendorModel({ vendor, model }: VendorModel): ChatModel {
  let loading: Promise<ChatModel> | undefined
  return {
    name: `${vendor}:${model}`,
    stream: (request, options) =>
      stream<ModelPart>(async (sink) => {
        loading ??= load(vendor, model)
        const chat = await loading
        await pipe(chat.stream(request, options), sink)
      }),
  }
}

async function load(vendor: VendorModel['vendor'], model: string): Promise<ChatModel> {
  switch (vendor) {
    case 'openai':
      return aiSdkModel((await import('@ai-sdk/openai')).openai(model))
    case 'anthropic':
      return aiSdkModel((await import('@ai-sdk/anthropic')).anthropic(model))
    case 'google':
      return aiSdkModel((await import('@ai-sdk/google')).google(model))
    case 'ollama': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const baseURL = process.env.OLLAMA_BASE_URL ?? 'http://localhost:11434/v1'
      return aiSdkModel(createOpenAICompatible({ name: 'ollama', baseURL })(model))
    }
  }
}
