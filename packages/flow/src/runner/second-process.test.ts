import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { RunResult } from '@troupe/kernel'
import { answersTo } from '@troupe/testkit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { resultOf, resultsPerCall, unsound } from './runner.fixture.ts'
import type { Order } from './second-process.fixture.ts'

const PROGRAM = fileURLToPath(new URL('./second-process.fixture.ts', import.meta.url))

/** Carries out one order in a separate process. */
async function inProcess(file: string, order: Order): Promise<RunResult & { path: string[]; pid: number }> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, file, JSON.stringify(order)], {
    env: { ...process.env, NODE_OPTIONS: '', FLOW_PROCESS: '1' },
  })
  return JSON.parse(stdout)
}

describe('a thread goes on in a second process', { timeout: 30_000 }, () => {
  let folder: string
  let file: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'troupe-flow-'))
    file = join(folder, 'thread.json')
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const messages = () =>
    JSON.parse(readFileSync(file, 'utf8')).messages.map(({ message }: { message: unknown }) => message)

  test('with an answer, in the agent that asked', async () => {
    const first = await inProcess(file, { query: 'to:Leaf call add:a ask:b' })
    expect(first).toMatchObject({ outcome: 'interrupted', interrupts: [{ callId: 'b', agentName: 'Leaf' }] })
    const second = await inProcess(file, { resume: answersTo(first.interrupts, { b: { approved: true } }) })
    expect(second).toMatchObject({ outcome: 'complete', text: 'got added a, {"approved":true}', path: ['Desk/Leaf'] })
    expect(second.pid).not.toBe(first.pid)
    expect(unsound(messages())).toEqual([])
  })

  test('with answers one by one, in branches of a step of a workflow', async () => {
    const { interrupts = [], path } = await inProcess(file, { query: 'to:Floor call ask:x' })
    expect(path[0]).toBe('Desk/Floor/First')
    expect(interrupts.map(({ agentName }) => agentName)).toEqual(['Left', 'Right'])
    const [left, right] = interrupts
    expect(await inProcess(file, { resume: { [right?.id ?? '']: 'r' } })).toMatchObject({ outcome: 'interrupted' })
    const last = await inProcess(file, { resume: { [left?.id ?? '']: 'l' } })
    expect(last).toMatchObject({ outcome: 'complete', path: ['Desk/Floor/Both/Left'] })
    expect(Object.values(resultsPerCall(messages()))).toEqual([1, 1])
  })

  test('with the result of a call that stayed open', async () => {
    expect(await inProcess(file, { query: 'to:Leaf call open:a' })).toMatchObject({ openCallIds: ['a'] })
    expect(await inProcess(file, { results: [resultOf('a')] })).toMatchObject({
      text: 'got result a',
      path: ['Desk/Leaf'],
    })
    expect(await inProcess(file, { query: 'next' })).toMatchObject({ text: 'heard to:Leaf call open:a | next' })
    expect(unsound(messages())).toEqual([])
  })
})
