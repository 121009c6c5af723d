import { describe, expect, test } from 'vitest'
import { toolPatterns } from './tool-selection.ts'

describe('a selection', () => {
  test('is a list of allowed names, or allow and deny', () => {
    expect(toolPatterns('t', ['a'])).toEqual({ allow: ['a'], deny: [] })
    expect(toolPatterns('t', { deny: ['b'] })).toEqual({ allow: [], deny: ['b'] })
  })

  test.each<[string, unknown]>([
    ['a text', 'read_file'],
    ['an empty name', ['']],
    ['a number', [3]],
    ['an unknown key', { allowed: [] }],
    ['allow that is not a list', { allow: 'x' }],
    ['nothing', null],
  ])('%s is CONFIG_INVALID', (_, selection) => {
    expect(() => toolPatterns('t', selection as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })
})
