import { expect, it } from 'vitest'
import { type Edit, edited, type Thing } from './packing.ts'

const thing = (id: string): Thing => ({ id, text: id, packed: false, by: 'you' })

it('makes edits on whatever list there is by then', () => {
  const edits: Edit[] = [
    { type: 'add', thing: thing('violin') },
    { type: 'pack', id: 'socks', packed: true },
    { type: 'remove', id: 'hat' },
  ]
  const before = { packing: [thing('socks'), thing('hat')], postcards: [] }
  expect(edited(before, edits)).toEqual({
    packing: [{ ...thing('socks'), packed: true }, thing('violin')],
    postcards: [],
  })
  expect(edited({ packing: [thing('new')] }, edits).packing).toEqual([thing('new'), thing('violin')])
  expect(edited({}, edits).packing).toEqual([thing('violin')])
  expect(edited(before, [])).toBe(before)
})

it('makes an edit twice without harm', () => {
  const edit: Edit = { type: 'add', thing: thing('violin') }
  expect(edited({}, [edit, edit]).packing).toHaveLength(1)
})
