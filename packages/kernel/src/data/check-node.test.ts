import { expect, test } from 'vitest'
import { checkNode } from './check-node.ts'

test.each(['22.18.0', '22.20.1', '24.0.0', '100.1.0'])('Node %s is new enough', (node) => {
  expect(() => checkNode({ node })).not.toThrow()
})

test.each(['18.20.0', '20.20.2', '22.9.0', '22.17.1'])('Node %s fails with the version that is needed', (node) => {
  expect(() => checkNode({ node })).toThrow(`@troupe/kernel needs Node 22.18 or later; this is Node ${node}.`)
})

test('other runtimes are left alone, whatever Node they resemble', () => {
  expect(() => checkNode(undefined)).not.toThrow()
  expect(() => checkNode({})).not.toThrow()
  expect(() => checkNode({ node: '20.0.0', bun: '1.1.0' })).not.toThrow()
  expect(() => checkNode({ node: '20.0.0', deno: '2.0.0' })).not.toThrow()
})
