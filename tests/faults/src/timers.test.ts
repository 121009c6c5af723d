import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const IMPORTS = `
import { AgUiAgent, SessionManager } from '@troupe/ag-ui'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { defineTool, KernelError } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { startRun } from '@troupe/kernel/run'
import { messageLifecycle } from '@troupe/persistence'
import { AgentRegistry, createBus, createPolicy, defineAgent } from '@troupe/subagent'
import { scriptedModel } from '@troupe/testkit'

const never = new Promise(() => {})
const hang = defineTool({ name: 'hang', description: 'Never answers.', parameters: { type: 'object' }, invoke: () => never })
const calling = (name, args = {}) => ({ toolCalls: [{ name, arguments: args }] })
const deaf = { name: 'deaf', description: '', async *run() { await never } }
const silent = { name: 'silent', async *stream() { await never } }
const session = { app: 'a', user: 'u', threadId: 't' }
const print = (promise) => promise.then(({ text }) => console.log(text), ({ code }) => console.log(code))
`

/** Runs a program in its own process, which only our timers can keep alive. */
function run(program: string): Promise<{ status: unknown; printed: string; errors: string }> {
  const args = ['--no-warnings', '--input-type=module', '--eval', IMPORTS + program]
  const cwd = resolve(import.meta.dirname, '..')
  return new Promise((done) => {
    execFile(process.execPath, args, { cwd, timeout: 30_000 }, (error, stdout, errors) =>
      done({ status: error ? (error.code ?? error.signal) : 0, printed: stdout.trim(), errors }),
    )
  })
}

describe.concurrent('what the caller waits for keeps the process alive', () => {
  const waits: Record<string, readonly [program: string, prints: string]> = {
    'the pause before a retry': [
      `
      let calls = 0
      const inner = scriptedModel(['Hello.'])
      const model = { name: 'flaky', stream(request, options) {
        if (++calls === 1) throw new KernelError('MODEL_OVERLOADED', 'HTTP 503', { retryable: true })
        return inner.stream(request, options)
      } }
      await print(startRun(chatModelAgent({ name: 'a', model }), 'Hi'))`,
      'Hello.',
    ],
    'the limit of a model call': [
      `await print(startRun(chatModelAgent({ name: 'a', model: silent, modelTimeoutMs: 50, retry: false }), 'Hi'))`,
      'TIMEOUT',
    ],
    'the limit of a tool call': [
      `const model = scriptedModel([calling('hang'), 'Went on.'])
      await print(startRun(chatModelAgent({ name: 'a', model, tools: [hang], toolTimeoutMs: 50 }), 'Hi'))`,
      'Went on.',
    ],
    'the limit of an agent': [
      `await print(startRun(chatModelAgent({ name: 'a', model: silent, runTimeoutMs: 50 }), 'Hi'))`,
      'TIMEOUT',
    ],
    'the limit of a run': [`await print(startRun(deaf, 'Hi', { timeoutMs: 50 }))`, 'TIMEOUT'],
    'the limit of a run that is iterated': [
      `try { for await (const _ of startRun(deaf, 'Hi', { timeoutMs: 50 })); } catch ({ code }) { console.log(code) }`,
      'TIMEOUT',
    ],
    'the limit of a run on a thread': [
      `await print(runner({ agent: deaf, limits: { runMs: 50 } }).run('Hi', { session }))`,
      'TIMEOUT',
    ],
    'the place in a queue for a thread': [
      `const store = memoryStore()
      await store.leases.acquire(session, { runId: 'other', ttlMs: 60_000 })
      await print(runner({ agent: deaf, store, busy: 'queue', limits: { queueMs: 50 } }).run('Hi', { session }))`,
      'THREAD_BUSY',
    ],
    'a cancel that comes from elsewhere': [
      `const store = memoryStore()
      const run = print(runner({ agent: deaf, store, limits: { pollMs: 50 } }).run('Hi', { session }))
      while (!(await store.leases.requestCancel(session, { mode: 'now' }))) await new Promise(setImmediate)
      await run`,
      'ABORTED',
    ],
    'the limit of a sub-agent': [
      `const registry = new AgentRegistry({ factory: chatModelAgent, model: silent, tools: [] })
      registry.registerAgent(defineAgent({ name: 'sub', description: 'x', input: { inputs: {} }, prompt: 'x', limits: { timeoutMs: 50, graceMs: 50 } }))
      const model = scriptedModel([calling('sub'), 'Went on.'])
      await print(startRun(chatModelAgent({ name: 'a', model, tools: registry.tools() }), 'Hi'))`,
      'Went on.',
    ],
    'a listener who is asked for approval': [
      `const bus = createBus()
      bus.on('approval', () => never)
      const { guard } = createPolicy({ rules: [{ effect: 'ask' }], askTimeoutMs: 50, bus })
      const model = scriptedModel([calling('hang'), 'Went on.'])
      await print(startRun(chatModelAgent({ name: 'a', model, tools: [guard(hang, { path: ['a'] })] }), 'Hi'))`,
      'Went on.',
    ],
    'the limit of an AG-UI run': [
      `const store = memoryStore()
      const agent = new AgUiAgent({ runner: runner({ agent: deaf, store }), store, userId: 'u', executionTimeoutMs: 50, report() {} })
      const input = { threadId: 't', runId: 'r', state: {}, messages: [{ id: '1', role: 'user', content: 'Hi' }], tools: [], context: [], forwardedProps: {} }
      let last
      for await (const event of agent.run(input)) last = event
      console.log(last.code)`,
      'EXECUTION_TIMEOUT',
    ],
    'the records that are flushed': [
      `const store = memoryStore()
      const records = { ...store.records, apply: () => never }
      const messages = messageLifecycle({ store: { ...store, records }, write: { flushMs: 50 }, report() {} })
      await print(startRun(chatModelAgent({ name: 'a', model: scriptedModel(['Hello.']) }), 'Hi', { session, callbacks: [messages] }))
      await messages.flush().catch(({ code }) => console.log(code))`,
      'Hello.\nRECORDS_PENDING',
    ],
  }
  test.each(Object.entries(waits))('%s', async (_, [program, prints]) => {
    expect(await run(program)).toEqual({ status: 0, printed: prints, errors: '' })
  })
})

describe.concurrent('background work does not keep the process alive', () => {
  const background: Record<string, string> = {
    'the sweep of expired sessions': `new SessionManager({ store: memoryStore() }).start()`,
    'a callback that hangs': `
      const callbacks = [{ name: 'hangs', run: { onEnd: () => never } }]
      await startRun(chatModelAgent({ name: 'a', model: scriptedModel(['Hello.']) }), 'Hi', { callbacks })`,
    'records of a store that is down': `
      const store = memoryStore()
      const records = { ...store.records, apply: () => Promise.reject(new Error('down')) }
      const messages = messageLifecycle({ store: { ...store, records }, report() {} })
      await startRun(chatModelAgent({ name: 'a', model: scriptedModel(['Hello.']) }), 'Hi', { session, callbacks: [messages] })`,
    'a limit that was not needed': `
      await startRun(chatModelAgent({ name: 'a', model: scriptedModel(['Hello.']), runTimeoutMs: 60_000 }), 'Hi', { timeoutMs: 60_000 })`,
  }
  test.each(Object.entries(background))('%s', async (_, program) => {
    const ended = `${program}\nconsole.log('done')\nconst since = Date.now()\nprocess.on('exit', () => console.log(Date.now() - since < 2_000))`
    expect(await run(ended)).toEqual({ status: 0, printed: 'done\ntrue', errors: '' })
  })
})
