/** A fake model in the interface of the AI SDK, version 4, which Mastra uses too. */
import { ARGS_JSON, done, nextCallId, resultsSince, WORD } from '../script.mjs'

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
}
const STOP = { unified: 'stop', raw: undefined }
const CALLS = { unified: 'tool-calls', raw: undefined }
const DELTA = { type: 'text-delta', id: 't', delta: WORD }
const isResult = ({ role }) => role === 'tool'
const isUser = ({ role }) => role === 'user'
const callOf = () => ({ type: 'tool-call', toolCallId: nextCallId(), toolName: 'add', input: ARGS_JSON })

function* partsOf(results, steps, deltas) {
  yield { type: 'stream-start', warnings: [] }
  if (results < steps) {
    yield callOf()
    yield { type: 'finish', finishReason: CALLS, usage }
    return
  }
  yield { type: 'text-start', id: 't' }
  for (let i = 0; i < deltas; i++) yield DELTA
  yield { type: 'text-end', id: 't' }
  yield { type: 'finish', finishReason: STOP, usage }
}

/** A stream that has all parts from the start. */
function readable(parts) {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}

export function model(steps, deltas) {
  const content = [{ type: 'text', text: WORD.repeat(deltas) }]
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'bench',
    supportedUrls: {},
    async doGenerate({ prompt }) {
      done.modelCalls++
      const results = resultsSince(prompt, isResult, isUser)
      return results < steps
        ? { content: [callOf()], finishReason: CALLS, usage, warnings: [] }
        : { content, finishReason: STOP, usage, warnings: [] }
    },
    async doStream({ prompt }) {
      done.modelCalls++
      return { stream: readable(partsOf(resultsSince(prompt, isResult, isUser), steps, deltas)) }
    },
  }
}
