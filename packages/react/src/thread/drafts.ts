import type { CallItem, Item, NoteItem, TextItem, UserItem } from './item.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export type UserDraft = Mutable<UserItem>
export type TextDraft = Mutable<TextItem>
export type CallDraft = Mutable<Omit<CallItem, 'inside'>> & { inside?: Draft[] }

/** An item that is still being written. */
export type Draft = UserDraft | TextDraft | CallDraft | NoteItem

/**
 * Items that change in place, and what they look like from outside.
 * Contract: `items` gives the same objects again for everything that has not been touched since, so that a page renders only what has changed.
 */
export class Drafts {
  readonly top: Draft[] = []
  readonly #views = new Map<Draft, Item>()
  readonly #parents = new Map<Draft, CallDraft>()
  #items: readonly Item[] | undefined

  get items(): readonly Item[] {
    this.#items ??= this.top.map((draft) => this.#viewOf(draft))
    return this.#items
  }

  /** Adds a draft at the end, or inside a call. */
  add(draft: Draft, parent?: CallDraft): void {
    if (parent) {
      parent.inside ??= []
      parent.inside.push(draft)
      this.#parents.set(draft, parent)
    } else this.top.push(draft)
    this.touch(draft)
  }

  /** Says that a draft has changed. */
  touch(draft: Draft): void {
    for (let each: Draft | undefined = draft; each; each = this.#parents.get(each)) this.#views.delete(each)
    this.#items = undefined
  }

  /** Removes drafts from the top. */
  remove(isGone: (draft: Draft, index: number) => boolean): void {
    const left = this.top.filter((draft, i) => !isGone(draft, i))
    if (left.length === this.top.length) return
    this.top.splice(0, Number.POSITIVE_INFINITY, ...left)
    this.#items = undefined
  }

  #viewOf(draft: Draft): Item {
    let view = this.#views.get(draft)
    if (!view) {
      const { inside, ...rest } = draft as CallDraft
      view = (inside ? { ...rest, inside: inside.map((each) => this.#viewOf(each)) } : rest) as Item
      this.#views.set(draft, view)
    }
    return view
  }
}
