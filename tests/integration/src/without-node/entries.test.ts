import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { bundle } from './bundle.fixture.ts'
import { nodeGlobalsIn, nodeGlobalsOf } from './node-globals.fixture.ts'

/** Entries that need Node, for a database, a test runner, files, a server, or processes and the addresses of hosts; and the parts of pages, which `tests/react` runs in a browser. */
const NODE_ONLY = /^@troupe\/(store-\w+|testkit|durable-restate|react)\b|^@troupe\/mcp$|^create-|\/node$/

const packages = new URL('../../../../packages/', import.meta.url)

/** Every entry of every package that is published; what is private is bundled into these. */
const entries = globSync('*/package.json', { cwd: packages }).flatMap((path) => {
  const { name, private: isPrivate, exports = {} } = JSON.parse(readFileSync(new URL(path, packages), 'utf8'))
  return isPrivate ? [] : Object.keys(exports).map((entry) => `${name}${entry.slice(1)}`)
})

test.each(entries.filter((entry) => !NODE_ONLY.test(entry)).sort())('%s needs nothing of Node', async (entry) => {
  const { code, missing, sources } = await bundle(entry)
  expect(missing).toEqual([])
  expect(code).not.toBe('')
  const own = sources.filter((path) => !path.includes('/node_modules/'))
  expect(own).not.toEqual([])
  expect(await nodeGlobalsIn(own)).toEqual([])
})

test('an entry that needs Node is told by its imports', async () => {
  const { missing } = await bundle('@troupe/ag-ui/node')
  expect(missing).toContainEqual(expect.stringMatching(/node:http.* in .*listen\.ts/))
})

test('a source that needs Node is told by its globals', async () => {
  const code = `
    const buffer = (Buffer: number) => Buffer + global.x
    export const made = [process.env, import.meta.dirname, new Function('return 1'), eval('1'), 'Buffer', buffer]`
  expect(await nodeGlobalsOf(code)).toEqual(['global', 'process', 'import.meta.dirname', 'Function', 'eval'])
})
