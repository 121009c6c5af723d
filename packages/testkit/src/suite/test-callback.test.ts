import type { Callback, RunInfo } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { broken, expectBroken } from './broken.fixture.ts'
import { callbackClauses, testCallback } from './test-callback.ts'

/** A callback that keeps a line per span and per event, for all runs at once. */
function sound(): Callback {
  const lines: string[] = []
  const note = (what: string) => async (info: RunInfo) => void lines.push(`${what} ${info.spanId}`)
  const hooks = { onStart: note('start'), onEnd: note('end'), onError: note('error') }
  return { name: 'lines', run: { ...hooks, onPart: note('part') }, agent: hooks, model: hooks, tool: hooks }
}

testCallback('a callback that hears all there is', sound)

const never = () => new Promise<void>(() => undefined)
const no = () => {
  throw new Error('no')
}
const everywhere = [
  'hears a complete run without a failure',
  'hears a failed run without a failure',
  'hears a run that its consumer left without a failure',
  'hears a run inside a tool call without a failure',
  'hears an interrupted run without a failure',
  'hears 50 runs at once without a failure',
]

const mutants: Record<string, { readonly make: () => Callback; readonly caught: readonly string[] }> = {
  'it has no name': { make: () => ({ name: '' }), caught: ['has a name, and hooks that are functions'] },
  'a hook is misspelt': {
    make: () => ({ name: 'x', model: { onStop: () => undefined } as never }),
    caught: ['has a name, and hooks that are functions', ...everywhere],
  },
  'a hook is not a function': {
    make: () => ({ name: 'x', tool: { onEnd: 'later' as never } }),
    caught: ['has a name, and hooks that are functions'],
  },
  'it throws on a part': { make: () => ({ name: 'x', run: { onPart: no } }), caught: everywhere },
  'it rejects at the end': {
    make: () => ({ name: 'x', agent: { onEnd: () => Promise.reject(new Error('no')) } }),
    caught: ['hears a complete run without a failure'],
  },
  'it throws on an error': {
    make: () => ({ name: 'x', run: { onError: no } }),
    caught: ['hears a failed run without a failure'],
  },
  'it hangs': { make: () => ({ name: 'x', run: { onStart: never } }), caught: everywhere },
  'it changes events': {
    make: () => ({ name: 'x', run: { onPart: (_info, event) => void Object.assign(event, { runId: 'mine' }) } }),
    caught: everywhere,
  },
  'it knows one run at a time': {
    make: () => {
      let current: string | undefined
      const onStart = (info: RunInfo) => {
        if (current !== undefined && info.parentRunId === undefined) throw new Error(`${current} is running`)
        current ??= info.runId
      }
      const onEnd = (info: RunInfo) => {
        if (info.parentRunId === undefined) current = undefined
      }
      return { name: 'x', run: { onStart, onEnd, onError: onEnd } }
    },
    caught: ['hears 50 runs at once without a failure'],
  },
  'it expects every tool call to succeed': {
    make: () => ({ name: 'x', tool: { onEnd: (_info, { error }) => (error ? no() : undefined) } }),
    caught: ['hears a failed run without a failure'],
  },
  'it takes a nested run for a root run': {
    make: () => ({ name: 'x', run: { onStart: ({ parentRunId }) => (parentRunId ? no() : undefined) } }),
    caught: ['hears a run inside a tool call without a failure'],
  },
  'it needs the start to take the end': {
    make: () => {
      const started = new Set<string>()
      const onEnd = ({ spanId }: RunInfo) => (started.delete(spanId) ? undefined : no())
      return { name: 'x', run: { onStart: ({ spanId }) => void started.add(spanId), onEnd, onError: onEnd } }
    },
    caught: ['takes the end of a run whose start it has not heard'],
  },
}

describe('testCallback', () => {
  it('holds for a sound callback', async () => {
    expect(await broken(callbackClauses(sound))).toEqual([])
  })

  for (const [wrong, { make, caught }] of Object.entries(mutants)) {
    it(`notices that ${wrong}`, async () => {
      await expectBroken(callbackClauses(make), caught)
    })
  }
})
