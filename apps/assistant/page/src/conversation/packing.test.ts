import { expect, it } from 'vitest'
import { type Edit, edited, type Shared, type Thing } from './packing.ts'

const thing = (id: string): Thing => ({ id, text: id, packed: false, by: 'you' })
const all = (state: Shared, edits: readonly Edit[]) => edits.reduce(edited, state)

it('makes edits on whatever list there is by then', () => {
  const edits: Edit[] = [
    { type: 'add', thing: thing('violin') },
    { type: 'pack', id: 'socks', packed: true },
    { type: 'remove', id: 'hat' },
  ]
  const before = { packing: [thing('socks'), thing('hat')], postcards: [] }
  expect(all(before, edits)).toEqual({ packing: [{ ...thing('socks'), packed: true }, thing('violin')] })
  expect(all({ packing: [thing('new')] }, edits).packing).toEqual([thing('new'), thing('violin')])
  expect(all({}, edits).packing).toEqual([thing('violin')])
})

it('makes an edit twice without harm', () => {
  const edit: Edit = { type: 'add', thing: thing('violin') }
  expect(all({}, [edit, edit]).packing).toHaveLength(1)
})
