import type { Postcard } from '../conversation/packing.ts'

/** Whether the data of a call is a postcard. */
export function isPostcard(data: unknown): data is Postcard {
  const { to, place, text } = (data ?? {}) as Partial<Record<keyof Postcard, unknown>>
  return typeof to === 'string' && typeof place === 'string' && typeof text === 'string'
}

/** A postcard that was sent. */
export function PostcardView({ postcard: { to, place, text } }: { readonly postcard: Postcard }) {
  return (
    <figure className="postcard">
      <blockquote>{text}</blockquote>
      <figcaption>
        <span className="stamp" aria-hidden="true">
          {place.slice(0, 1)}
        </span>
        <span>
          To <strong>{to}</strong>
        </span>
        <span>from {place}</span>
        <span className="postmark">sent</span>
      </figcaption>
    </figure>
  )
}
