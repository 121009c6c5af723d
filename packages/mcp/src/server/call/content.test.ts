import type { FilePart } from '@troupe/kernel'
import { expect, it } from 'vitest'
import { contentBlocks } from './content.ts'

const file = (mediaType: string, own: Partial<FilePart> = {}): FilePart => ({
  type: 'file',
  mediaType,
  data: btoa('Hi'),
  ...own,
})

it('text is text, and reasoning stays here', () => {
  expect(contentBlocks('Hi')).toEqual([{ type: 'text', text: 'Hi' }])
  expect(
    contentBlocks([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'Hi' },
    ]),
  ).toEqual([{ type: 'text', text: 'Hi' }])
})

it.each([
  [file('image/png'), { type: 'image', mimeType: 'image/png', data: btoa('Hi') }],
  [file('audio/wav'), { type: 'audio', mimeType: 'audio/wav', data: btoa('Hi') }],
  [
    file('text/plain', { name: 'a note.txt' }),
    { type: 'resource', resource: { uri: 'file:///a%20note.txt', mimeType: 'text/plain', text: 'Hi' } },
  ],
  [
    file('application/pdf', { name: 'shop://bill' }),
    { type: 'resource', resource: { uri: 'shop://bill', mimeType: 'application/pdf', blob: btoa('Hi') } },
  ],
  [
    file('text/plain', { data: 'not base64!' }),
    { type: 'resource', resource: { uri: 'file:///0', mimeType: 'text/plain', blob: 'not base64!' } },
  ],
  [
    { type: 'file', mediaType: 'video/mp4', url: 'https://a.example/b.mp4', name: 'b' } as const,
    { type: 'resource_link', uri: 'https://a.example/b.mp4', name: 'b', mimeType: 'video/mp4' },
  ],
])('a file is what the protocol has for its kind: %j', (part, block) => {
  expect(contentBlocks([part])).toEqual([block])
})
