import { filesOf, textOf } from './content.ts'
import type { UserContent, UserItem } from './item.ts'

/** A message of the user as an item. */
export function userItem(id: string, content: UserContent, unsent = false): UserItem {
  return { kind: 'user', id, text: textOf(content), files: filesOf(content), content, unsent }
}
