/** Removes an item from a list; fast if it was added last, as most are. */
export function remove<T>(list: T[], item: T): void {
  if (list.at(-1) === item) list.pop()
  else if (list.includes(item)) list.splice(list.indexOf(item), 1)
}
