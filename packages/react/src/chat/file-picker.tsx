import { type ReactNode, useRef } from 'react'
import { Icon } from '../view/icon.tsx'
import { useConversation } from './conversation-context.ts'

interface FilePickerProps {
  readonly accept: string
  readonly files: readonly File[]
  readonly onChange: (files: readonly File[]) => void
}

/** Chooses files for a message. */
export function FilePicker({ accept, files, onChange }: FilePickerProps): ReactNode {
  const { labels, focusComposer } = useConversation()
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      {files.length > 0 && (
        <ul className="troupe-picked">
          {files.map((file, i) => (
            <li key={`${i} ${file.name}`}>
              {file.name}
              <button
                type="button"
                className="troupe-quiet"
                aria-label={labels.remove(file.name)}
                onClick={() => {
                  onChange(files.filter((each) => each !== file))
                  focusComposer()
                }}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <input
        ref={input}
        type="file"
        hidden
        multiple
        accept={accept}
        onChange={({ currentTarget }) => {
          onChange([...files, ...(currentTarget.files ?? [])])
          currentTarget.value = ''
          focusComposer()
        }}
      />
      <button type="button" className="troupe-quiet" aria-label={labels.attach} onClick={() => input.current?.click()}>
        <Icon name="attach" />
      </button>
    </>
  )
}
