import type { ReactNode } from 'react'
import type { FilesProps } from './components.ts'

/** Files beside a text: pictures as they are, others by name. */
export function Files({ files }: FilesProps): ReactNode {
  if (files.length === 0) return null
  return (
    <ul className="troupe-files">
      {files.map(({ mediaType, name = mediaType, url }, i) => (
        <li key={`${i}`}>
          {mediaType.startsWith('image/') ? <img src={url} alt={name} /> : <FileLink name={name} url={url} />}
        </li>
      ))}
    </ul>
  )
}

/** Contract: only addresses that cannot run code are links. */
function FileLink({ name, url }: { readonly name: string; readonly url: string }): ReactNode {
  if (/^https?:/.test(url)) {
    return (
      <a href={url} target="_blank" rel="noreferrer">
        {name}
      </a>
    )
  }
  return url.startsWith('data:') ? (
    <a href={url} download={name}>
      {name}
    </a>
  ) : (
    name
  )
}
