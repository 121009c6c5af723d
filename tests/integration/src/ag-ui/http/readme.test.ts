import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { HttpAgent } from '@ag-ui/client'
import { expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../../../../..')
const readme = readFileSync(join(root, 'packages/ag-ui/README.md'), 'utf8')

it('the server of the README serves the official client', async () => {
  const [, code = ''] = /^```ts\n(.*?)^```/ms.exec(readme) ?? []
  expect(code.trim().split('\n').length).toBeLessThanOrEqual(20)
  const file = join(import.meta.dirname, `readme-${process.pid}.tmp.ts`)
  // Any free port.
  writeFileSync(file, code.replace('port: 8000', 'port: 0'))
  let child: ChildProcess | undefined
  try {
    child = spawn(process.execPath, ['--no-warnings', file], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(child.stdout as NonNullable<typeof child.stdout>, 'data')) as [Buffer]
    const url = /http:\S+/.exec(String(line))?.[0] ?? ''
    const agent = new HttpAgent({ url })
    agent.addMessage({ id: '1', role: 'user', content: 'Hi' })
    await agent.runAgent()
    expect(agent.messages.at(-1)?.content).toBe('Hello!')
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  } finally {
    child?.kill('SIGKILL')
    rmSync(file, { force: true })
  }
})
