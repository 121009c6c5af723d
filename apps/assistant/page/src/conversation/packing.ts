/** One thing to pack. */
export interface Thing {
  readonly id: string
  readonly text: string
  readonly packed: boolean
  readonly by: string
}

/** A postcard that was sent. */
export interface Postcard {
  readonly to: string
  readonly place: string
  readonly text: string
}

/** The state that the page and the agents share. */
export type Shared = {
  readonly packing?: readonly Thing[]
  readonly postcards?: readonly Postcard[]
}

/** A change of the list by the user. Contract: it can be applied again to a list that an agent has changed meanwhile. */
export type Edit =
  | { readonly type: 'add'; readonly thing: Thing }
  | { readonly type: 'pack'; readonly id: string; readonly packed: boolean }
  | { readonly type: 'remove'; readonly id: string }

/** The shared state after an edit. */
export function edited({ packing = [] }: Shared, edit: Edit): Shared {
  return { packing: change(packing, edit) }
}

function change(list: readonly Thing[], edit: Edit): readonly Thing[] {
  switch (edit.type) {
    case 'add':
      return list.some(({ id }) => id === edit.thing.id) ? list : [...list, edit.thing]
    case 'pack':
      return list.map((thing) => (thing.id === edit.id ? { ...thing, packed: edit.packed } : thing))
    case 'remove':
      return list.filter(({ id }) => id !== edit.id)
  }
}
