import { Call, type CallProps } from '@troupe/react'
import { isPostcard, PostcardView } from './postcard.tsx'

/** A call; one that has sent a postcard shows it. */
export function AssistantCall({ item, children }: CallProps) {
  if (!children && item.status === 'done' && isPostcard(item.data)) return <PostcardView postcard={item.data} />
  return <Call item={item}>{children}</Call>
}
