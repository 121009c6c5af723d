import { agUiServer } from '@troupe/ag-ui/node'
import type { Store } from '@troupe/kernel'
import { loadHandler } from './load-handler.ts'
import { random } from './random.ts'

/** Counts of the answers to broken inputs. */
export interface FuzzFigures {
  readonly inputs: number
  readonly accepted: number
  readonly refused: number
  readonly serverErrors: number
  /** Refusals that do not name the wrong field. */
  readonly nameless: number
}

type Below = (below: number) => number

/** Sends broken run inputs over HTTP. Contract: throws if the server stops answering. */
export async function fuzz(store: Store, inputs: number, seed = 3): Promise<FuzzFigures> {
  const handler = loadHandler(store, { report: () => {} })
  await using server = await agUiServer(handler)
  const number = random(seed)
  let accepted = 0
  let refused = 0
  let serverErrors = 0
  let nameless = 0
  const one = async (i: number) => {
    const body = broken(number, i)
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(server.url, { method: 'POST', headers, body: body as Uint8Array<ArrayBuffer> })
    const text = await response.text()
    if (response.status >= 500) serverErrors++
    else if (response.ok) accepted++
    else {
      refused++
      const { code, message } = JSON.parse(text) as { code: string; message: string }
      if (code === 'VALIDATION_FAILED' && !/^(run input, .+|body): /s.test(message)) nameless++
    }
  }
  for (let i = 0; i < inputs; i += LANES) {
    await Promise.all(Array.from({ length: Math.min(LANES, inputs - i) }, (_, lane) => one(i + lane)))
  }
  const alive = await fetch(`${server.url}/capabilities`)
  if (!alive.ok) throw new Error('the server does not answer any more')
  await handler.stop(0)
  return { inputs, accepted, refused, serverErrors, nameless }
}

const LANES = 8
const ODD = ['\u0000', '\ud800', '\uffff', '💥', '‮', '__proto__', 'constructor', '../..', 'a'.repeat(5_000), '', ' ']
const KEYS = ['threadId', 'runId', 'messages', 'state', 'tools', 'context', 'forwardedProps', 'resume', 'parentRunId']

/** A valid input with something wrong in it, or no input at all. */
function broken(number: Below, i: number): string | Uint8Array {
  if (number(20) === 0) return ['', '[]', 'null', '7', '"x"', '{', '{"a":', '[[', 'true'][number(9)] as string
  if (number(40) === 0) return new Uint8Array([0xff, 0xfe, 0x22, number(256)])
  const input: Record<string, unknown> = {
    threadId: `f${number(50)}`,
    runId: `f${i}`,
    messages: [message(number, i)],
    state: { a: { b: [1, 2, 3] } },
    tools: [{ name: 'pick', description: 'x', parameters: { type: 'object' } }],
    context: [{ description: 'd', value: 'v' }],
    protocolVersion: '1.0',
  }
  for (let times = 1 + number(3); times > 0; times--) {
    const key = KEYS[number(KEYS.length)] as string
    if (number(8) === 0) delete input[key]
    else input[key] = number(4) === 0 ? spoiled(input[key], number, 0) : anything(number, 0)
  }
  const text = JSON.stringify(input)
  // JSON.stringify would not write these.
  if (number(12) === 0) return text.replace('"state":', '"__proto__":{"polluted":1},"state":')
  if (number(30) === 0) return text.replace(/"state":[^,]*/, `"state":${'['.repeat(3_000)}${']'.repeat(3_000)}`)
  return text
}

function message(number: Below, i: number): unknown {
  const role = ['user', 'assistant', 'tool', 'system', 'developer', 'activity', 'reasoning', 'nobody'][number(8)]
  return { id: `u${i}`, role, content: number(3) === 0 ? anything(number, 0) : 'Hi', toolCallId: `c${number(3)}` }
}

function anything(number: Below, depth: number): unknown {
  switch (number(depth > 3 ? 7 : 10)) {
    case 0:
      return null
    case 1:
      return number(2) === 0
    case 2:
      return number(1_000_000) * (number(2) === 0 ? -1 : 1e300)
    case 3:
    case 4:
      return ODD[number(ODD.length)]
    case 5:
      return []
    case 6:
      return {}
    case 7:
      return Array.from({ length: number(4) }, () => anything(number, depth + 1))
    default:
      return Object.fromEntries(
        Array.from({ length: number(4) }, () => [ODD[number(ODD.length)] ?? 'k', anything(number, depth + 1)]),
      )
  }
}

/** The same shape with some values replaced. */
function spoiled(value: unknown, number: Below, depth: number): unknown {
  if (typeof value !== 'object' || value === null || number(4) === 0) return anything(number, depth)
  if (Array.isArray(value)) return value.map((item) => (number(2) === 0 ? spoiled(item, number, depth + 1) : item))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, number(2) === 0 ? spoiled(item, number, depth + 1) : item]),
  )
}
