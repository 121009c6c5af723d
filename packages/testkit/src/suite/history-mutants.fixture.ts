import type { Message } from '@troupe/kernel'
import type { HandlerMutants } from './handler-mutant.fixture.ts'

const paired = (hook: string) => `${hook} gives a history with calls and results in pairs, and changes none in place`

/** Handlers that are wrong about the history. */
export const historyMutants: HandlerMutants = {
  'it changes the history in place': {
    handler: () => ({ beforeModelRewriteHistory: (_ctx, messages) => void (messages as unknown[]).pop() }),
    caught: paired('beforeModelRewriteHistory'),
  },
  'it drops the oldest result in beforeAgent when the history gets long': {
    handler: () => ({
      beforeAgent(_ctx, config) {
        config.input = { messages: config.input.messages.slice(-10) }
      },
    }),
    caught: 'beforeAgent leaves a configuration that an agent can run with',
    says: /^beforeAgent left in config\.input\.messages, of \d+ messages, a history in which a tool call lacks its result/,
  },
  'it changes only long histories in place': {
    handler: () => ({
      beforeModelRewriteHistory: (_ctx, messages) => void (messages.length > 12 && (messages as unknown[]).shift()),
    }),
    caught: paired('beforeModelRewriteHistory'),
  },
  'it cannot take an empty history': {
    handler: () => ({ beforeModelRewriteHistory: (_ctx, messages) => [messages[0] ?? empty(), ...messages.slice(1)] }),
    caught: paired('beforeModelRewriteHistory'),
  },
  'it returns no history': {
    handler: () => ({ afterModelRewriteHistory: () => ({ ok: true }) as never }),
    caught: paired('afterModelRewriteHistory'),
  },
}

function empty(): never {
  throw new Error('no')
}

/** Cuts of a fixed number of messages, each of which takes half a pair away from some history. */
export const cuts: { readonly [name: string]: { readonly from: number; readonly cut: Cut } } = {
  'keeps the last': { from: 1, cut: (messages, n) => messages.slice(-n) },
  'keeps the first and the last': {
    from: 1,
    cut: ([first, ...rest], n) => [...(first ? [first] : []), ...rest.slice(-n)],
  },
  'drops the first': { from: 2, cut: (messages, n) => messages.slice(n) },
  'drops the last': { from: 1, cut: (messages, n) => messages.slice(0, -n) },
  'keeps the first': { from: 2, cut: (messages, n) => messages.slice(0, n) },
}

type Cut = (messages: readonly Message[], n: number) => readonly Message[]

/** The clauses about pairs, and how many messages at the end of a history are never half a pair: after a model call, its own. */
export const rewrites: { readonly [hook: string]: { readonly name: string; readonly whole: number } } = {
  beforeModelRewriteHistory: { name: paired('beforeModelRewriteHistory'), whole: 0 },
  afterModelRewriteHistory: { name: paired('afterModelRewriteHistory'), whole: 1 },
}
