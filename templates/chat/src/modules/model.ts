import { openai } from '@ai-sdk/openai'
import { aiSdkModel } from '@troupe/model-ai-sdk'
import { type Registrations, singleton } from '../app.ts'
import { demoModel } from '../demo-model.ts'

/** A model of OpenAI if `OPENAI_API_KEY` is set, else the demo model. */
export const modelModule: Registrations<'model'> = {
  model: singleton(() => (process.env.OPENAI_API_KEY ? aiSdkModel(openai('gpt-5')) : demoModel())),
}
