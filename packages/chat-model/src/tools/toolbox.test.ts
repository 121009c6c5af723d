import { defineTool, type ToolMeta } from '@troupe/kernel'
import { expect, it } from 'vitest'
import { Toolbox } from './toolbox.ts'

const metaOf = (name: string): ToolMeta => ({
  tool: defineTool({ name, description: name, parameters: { type: 'object' }, invoke: () => name }),
  returnDirectly: false,
})
const [one, two, three] = ['one', 'two', 'three'].map(metaOf) as [ToolMeta, ToolMeta, ToolMeta]

it('is the same for a run with the same tools, and another for any other list', () => {
  const own = new Toolbox([one, two])
  expect(own.holding([one, two])).toBe(own)
  const more = own.holding([one, two, three])
  expect(more.names).toEqual(['one', 'two', 'three'])
  expect(own.holding([one, two, three])).toBe(more)
  expect(own.holding([two, one]).specs.map(({ name }) => name)).toEqual(['two', 'one'])
  expect(own.holding([one, two, three]).names).toEqual(['one', 'two', 'three'])
  expect(own.holding([one, two, { ...three, returnDirectly: true }]).get('three')?.returnDirectly).toBe(true)
  expect(own.holding([]).names).toEqual([])
  expect(() => own.holding([one, one])).toThrow('names must be unique')
  expect(own.holding([one, two])).toBe(own)
})
