import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { aiSdkModel } from '@troupe/model-ai-sdk'
import { type Registrations, singleton } from '../app.ts'
import { demoModel } from '../demo-model.ts'

const { OLLAMA_MODEL, OLLAMA_BASE_URL } = process.env
const ollama = createOpenAICompatible({ name: 'ollama', baseURL: OLLAMA_BASE_URL || 'http://localhost:11434/v1' })

/** A model of the Ollama server on this machine if `OLLAMA_MODEL` names one, else the demo model. */
export const modelModule: Registrations<'model'> = {
  model: singleton(() => (OLLAMA_MODEL ? aiSdkModel(ollama(OLLAMA_MODEL)) : demoModel())),
}
