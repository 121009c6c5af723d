import { defineTool, type Json, type State, type Tool } from '@troupe/kernel'

/** The key of the list in the state that agents and page share. */
const PACKING = 'packing'

/** One thing to pack. */
type Thing = { readonly id: string; readonly text: string; readonly packed: boolean; readonly by: string }

/** Tools for a list that the user can edit on the page at the same time. */
export function packingListTools(): readonly Tool[] {
  return [addToList(), readList()] as Tool[]
}

function addToList() {
  return defineTool({
    name: 'add_to_packing_list',
    description: 'Adds things to the packing list; things that are already on it stay as they are.',
    parameters: {
      type: 'object',
      properties: { items: { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1, maxItems: 30 } },
      required: ['items'],
    },
    kind: 'write',
    effect: 'idempotent',
    invoke({ items }, ctx, { callId }) {
      const list = readThings(ctx.state)
      const known = new Set(list.map(({ text }) => text.toLowerCase()))
      const added = items.filter((text) => !known.has(text.toLowerCase()))
      const things = added.map(
        (text, i): Thing => ({ id: `${callId}-${list.length + i}`, text, packed: false, by: 'agent' }),
      )
      ctx.state.set(PACKING, [...list, ...things] as Json[])
      return added.length === 0
        ? 'Everything you need is on the list already.'
        : `I have put ${added.join(', ')} on the list. Tick off what is packed, or add what I forgot.`
    },
  })
}

function readList() {
  return defineTool({
    name: 'read_packing_list',
    description: 'The current packing list, with the changes of the user.',
    parameters: { type: 'object' },
    kind: 'read',
    effect: 'idempotent',
    invoke(_, ctx) {
      const list = readThings(ctx.state)
      if (list.length === 0) return 'The list is empty.'
      const [packed, left] = [list.filter((thing) => thing.packed), list.filter((thing) => !thing.packed)]
      const names = (things: readonly Thing[]) => things.map(({ text }) => text).join(', ') || 'nothing'
      return `Packed: ${names(packed)}. Still to pack: ${names(left)}.`
    },
  })
}

/** Reads the list. Contract: ignores invalid entries, because a page can write anything there. */
function readThings(state: State): readonly Thing[] {
  const value = state.get(PACKING)
  if (!Array.isArray(value)) return []
  return (value as readonly Partial<Thing>[]).flatMap((thing) => {
    if (typeof thing?.id !== 'string' || typeof thing.text !== 'string') return []
    const { id, text, packed = false, by = 'user' } = thing
    return [{ id, text, packed: packed === true, by: String(by) }]
  })
}
