import { describe, expect, it } from 'vitest'
import { pluginNames } from './names.ts'

const none = new Set<string>()

describe('the names of a plugin', () => {
  it.each([
    ['whisper', 'whisper', 'whisper', 'whisper', 'WhisperOptions'],
    ['my-handler', 'my-handler', 'my-handler', 'myHandler', 'MyHandlerOptions'],
    ['troupe-handler-low-voice', 'troupe-handler-low-voice', 'low-voice', 'lowVoice', 'LowVoiceOptions'],
    ['@acme/troupe-whisper', 'troupe-whisper', 'whisper', 'whisper', 'WhisperOptions'],
    ['a.b_c-', 'a.b_c-', 'a-b-c', 'aBC', 'ABCOptions'],
    ['troupe-handler-', 'troupe-handler-', 'troupe-handler', 'troupeHandler', 'TroupeHandlerOptions'],
    [
      'troupe-handler-2fast',
      'troupe-handler-2fast',
      'troupe-handler-2fast',
      'troupeHandler2fast',
      'TroupeHandler2fastOptions',
    ],
  ])('%s', (name, folder, handler, factory, options) => {
    expect(pluginNames(name, none)).toEqual({ name, folder, handler, factory, options })
  })

  it.each(['new', 'await', 'static', 'eval'])('a factory cannot be called %s', (word) => {
    expect(pluginNames(`troupe-handler-${word}`, none)).toMatchObject({ handler: word, factory: `${word}Handler` })
  })

  it('a factory is not called like something else in its files', () => {
    expect(pluginNames('expect', new Set(['expect'])).factory).toBe('expectHandler')
  })

  it.each([
    '',
    'My-Handler',
    '2fast',
    '.hidden',
    '_private',
    'a b',
    'a/b',
    '../up',
    '@acme',
    '@acme/',
    '@/a',
    'a$(b)',
    'é',
    'a'.repeat(215),
  ])('%o is refused, with what to do', (name) => {
    expect(() => pluginNames(name, none)).toThrow(`'${name}' cannot be the name of an npm package. Use small letters`)
  })
})
