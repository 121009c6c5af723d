import { describe, expect, it, test } from 'vitest'
import { type AgentHandler, BaseAgentHandler } from '../index.ts'
import { checkHandler } from '../kit.ts'

const fine = () => undefined
const handler = (members: object): AgentHandler => ({ name: 'shout', ...members })

describe('a misspelt hook is refused with the nearest one', () => {
  test.each([
    ['beforeModel', 'beforeModelRewriteHistory'],
    ['afterModel', 'afterModelRewriteHistory'],
    ['BeforeAgent', 'beforeAgent'],
    ['before_agent', 'beforeAgent'],
    ['beforeagent', 'beforeAgent'],
    ['beforAgent', 'beforeAgent'],
    ['wrapToolCall', 'wrapInvokableToolCall'],
    ['wrapModel', 'wrapModelCall'],
    ['beforeChatModel', 'beforeModelRewriteHistory'],
    ['beforeTool', 'wrapInvokableToolCall'],
    ['onError', 'afterAgent'],
  ])('%s: %s', (name, meant) => {
    const message = `handler shout: unknown hook ${name}; did you mean ${meant}?`
    expect(() => checkHandler(handler({ [name]: fine }))).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message }),
    )
    expect(() => checkHandler(handler({ beforeAgent: fine, [name]: fine }))).toThrow(message)
  })

  test.each(['onToolDone', 'wrap_it', 'after', 'beforeLunch'])(
    '%s, which is near to none, with all of them',
    (name) => {
      const message = new RegExp(`handler shout: unknown hook ${name}; (known are beforeAgent|did you mean)`)
      expect(() => checkHandler(handler({ [name]: fine }))).toThrow(message)
    },
  )

  it('also in a class, and in the class it extends', () => {
    class Base extends BaseAgentHandler {
      beforeModel() {}
    }
    class Shout extends Base {
      override beforeAgent() {}
    }
    expect(() => checkHandler(new Shout('shout'))).toThrow(/unknown hook beforeModel; did you mean beforeModelRewrite/)
  })
})

describe('what is a handler’s own', () => {
  it('may be there beside its hooks', () => {
    const own = { clear: fine, stats: fine, toJSON: fine, on: fine, once: fine, afterwards: fine, wrapper: fine }
    const data = { beforeModel: 'a text', onError: true, calls: [], options: { onError: 'stop' } }
    expect(() => checkHandler(handler({ beforeAgent: fine, ...own, ...data }))).not.toThrow()
  })

  it('may be in a class', () => {
    class Shout extends BaseAgentHandler {
      readonly #secret = 1
      override afterAgent() {
        this.afterwards()
      }
      afterwards() {
        return this.#secret
      }
      get beforeLunch(): never {
        throw new Error('not called')
      }
    }
    expect(() => checkHandler(new Shout('shout'))).not.toThrow()
    expect(() => checkHandler(new (class extends BaseAgentHandler {})('idle'))).not.toThrow()
  })

  it('is not enough without a hook', () => {
    expect(() => checkHandler(handler({ clear: fine }))).toThrow(
      'handler shout: expected at least one hook; known are beforeAgent, beforeModelRewriteHistory, afterModelRewriteHistory, wrapInvokableToolCall, wrapStreamableToolCall, wrapModelCall, afterAgent',
    )
    expect(() => checkHandler(handler({}))).not.toThrow()
  })

  it('does not take the place of a name, and a hook is a function', () => {
    expect(() => checkHandler({ beforeAgent: fine } as never)).toThrow(/expected an object with a name/)
    expect(() => checkHandler(handler({ beforeAgent: 'x' }))).toThrow(/beforeAgent must be a function, got "x"/)
  })
})
