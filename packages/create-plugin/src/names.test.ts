import { describe, expect, it } from 'vitest'
import { pluginNames } from './names.ts'

const none = new Set<string>()

describe('the names of a plugin', () => {
  it.each([
    ['whisper', 'whisper', 'whisper', 'whisper', 'whisper', 'WhisperOptions'],
    ['my-clock', 'my-clock', 'my-clock', 'my_clock', 'myClock', 'MyClockOptions'],
    ['troupe-handler-low-voice', 'troupe-handler-low-voice', 'low-voice', 'low_voice', 'lowVoice', 'LowVoiceOptions'],
    ['troupe-tool-low-voice', 'troupe-tool-low-voice', 'low-voice', 'low_voice', 'lowVoice', 'LowVoiceOptions'],
    ['@acme/troupe-whisper', 'troupe-whisper', 'whisper', 'whisper', 'whisper', 'WhisperOptions'],
    ['tool-whisper', 'tool-whisper', 'tool-whisper', 'tool_whisper', 'toolWhisper', 'ToolWhisperOptions'],
    ['a.b_c-', 'a.b_c-', 'a-b-c', 'a_b_c', 'aBC', 'ABCOptions'],
    ['troupe-handler-', 'troupe-handler-', 'troupe-handler', 'troupe_handler', 'troupeHandler', 'TroupeHandlerOptions'],
    [
      'troupe-handler-2fast',
      'troupe-handler-2fast',
      'troupe-handler-2fast',
      'troupe_handler_2fast',
      'troupeHandler2fast',
      'TroupeHandler2fastOptions',
    ],
  ])('%s', (name, folder, label, snake, factory, options) => {
    for (const kind of ['handler', 'tool', 'store'] as const) {
      expect(pluginNames(name, kind, none)).toEqual({ name, folder, label, snake, factory, options })
    }
  })

  it.each(['new', 'await', 'static', 'eval'])('a factory cannot be called %s', (word) => {
    expect(pluginNames(`troupe-handler-${word}`, 'handler', none)).toMatchObject({
      label: word,
      factory: `${word}Handler`,
    })
    expect(pluginNames(word, 'tool', none)).toMatchObject({ label: word, factory: `${word}Tool` })
  })

  it('a factory is not called like something else in its files', () => {
    expect(pluginNames('expect', 'model', new Set(['expect'])).factory).toBe('expectModel')
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
    expect(() => pluginNames(name, 'handler', none)).toThrow(
      `'${name}' cannot be the name of an npm package. Use small letters`,
    )
  })
})
