import { type ChatModel, KernelError, type ModelPart, stream } from '@troupe/kernel'
import { pipe } from '@troupe/kernel/kit'
import { aiSdkModel } from '@troupe/model-ai-sdk'
import { type VendorChoice, variableOf } from './vendor.ts'
import { errorWithoutKeys } from './without-keys.ts'

/** One package for each vendor, loaded with the first call of its model. */
const LOADERS: Record<VendorChoice['vendor'], (choice: VendorChoice) => Promise<ChatModel>> = {
  openai: async ({ model }) => aiSdkModel((await import('@ai-sdk/openai')).openai(model)),
  anthropic: async ({ model }) => aiSdkModel((await import('@ai-sdk/anthropic')).anthropic(model)),
  google: async ({ model }) => aiSdkModel((await import('@ai-sdk/google')).google(model)),
  ollama: async ({ model, ollamaUrl: baseURL }) => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    return aiSdkModel(createOpenAICompatible({ name: 'ollama', baseURL })(model))
  },
}

/** Makes a vendor's model. Contract: an error has no key in it, because errors are stored; one about a refused key names the variable that the key comes from. */
export function vendorModel(choice: VendorChoice): ChatModel {
  let loading: Promise<ChatModel> | undefined
  return {
    name: `${choice.vendor}:${choice.model}`,
    stream: (request, options) =>
      stream<ModelPart>(async (sink) => {
        loading ??= LOADERS[choice.vendor](choice)
        const model = await loading
        try {
          await pipe(model.stream(request, options), sink)
        } catch (error) {
          throw withVariable(errorWithoutKeys(error, keysOf(choice)), choice)
        }
      }),
  }
}

function keysOf({ vendor }: VendorChoice): readonly string[] {
  const key = vendor === 'ollama' ? undefined : process.env[variableOf(vendor)]
  return key ? [key] : []
}

function withVariable(error: unknown, { vendor }: VendorChoice): unknown {
  if (!KernelError.is(error, 'MODEL_AUTH_FAILED')) return error
  const { code, message, details } = error
  return new KernelError(code, `${message}; check ${variableOf(vendor)}`, { cause: error, ...(details && { details }) })
}
