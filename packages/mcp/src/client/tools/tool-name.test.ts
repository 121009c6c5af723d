import { expect, it } from 'vitest'
import { toolName } from './tool-name.ts'

it('keeps what every model takes and replaces the rest', () => {
  expect(toolName('git_', 'repo.read/file')).toBe('git_repo_read_file')
  expect(toolName('', 'a-b_C1')).toBe('a-b_C1')
})

it('shortens long names so that they stay different', () => {
  const names = ['a', 'b'].map((end) => toolName('git_', `${'x'.repeat(80)}${end}`))
  expect(names.map((name) => name.length)).toEqual([64, 64])
  expect(new Set(names).size).toBe(2)
})
