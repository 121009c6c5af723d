import { expect, it } from 'vitest'
import { words } from './words.ts'

it('cuts at spaces and punctuation', () => {
  expect(words('Ask a person, then run-end.')).toEqual(['Ask', 'a', 'person', 'then', 'run', 'end'])
})

it('cuts Chinese into pairs of signs, so that a word inside a sentence is found', () => {
  expect(words('添加一个工具 tool')).toEqual(['添加', '加一', '一个', '个工', '工具', 'tool'])
  expect(words('用runner运行')).toEqual(['用', 'runner', '运行'])
})
