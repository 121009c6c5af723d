import { registerHooks } from 'node:module'

// Loaded before a program with `node --import`: every agent that the program makes with chatModelAgent gets a model that fails.
const AGENT = '@troupe/chat-model'
const MARK = '?failing-model'

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    return specifier === AGENT ? { ...found, url: `${found.url}${MARK}` } : found
  },
  load(url, context, next) {
    if (!url.endsWith(MARK)) return next(url, context)
    const real = JSON.stringify(url.slice(0, -MARK.length))
    const source = `
      import { chatModelAgent as make } from ${real}
      export * from ${real}
      const model = {
        name: 'failing',
        async *stream() {
          throw Object.assign(new Error('the model is down, as this test wants it'), { code: 'MODEL_FAILED' })
        },
      }
      export const chatModelAgent = (options) => make({ ...options, model, fallbacks: [] })`
    return { format: 'module', source, shortCircuit: true }
  },
})
