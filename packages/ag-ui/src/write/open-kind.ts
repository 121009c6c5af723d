import { EventType } from '@ag-ui/core'
import type { AgUiEvent } from '../protocol.ts'

/** Something that has begun and must end. */
export interface Opened {
  /** Later ones end first. */
  readonly order: number
  readonly owner: string | undefined
  /** Makes the event that ends it before this terminal. */
  end(terminal: Terminal): AgUiEvent
}

/** The last event of a run. */
export type Terminal = Extract<AgUiEvent, { type: EventType.RUN_FINISHED | EventType.RUN_ERROR }>

export function isTerminal(event: AgUiEvent): event is Terminal {
  return event.type === EventType.RUN_FINISHED || event.type === EventType.RUN_ERROR
}

/** The owner of each id. Contract: an id keeps its owner for the whole run. */
export type Owners = Map<string, string | undefined>

/** Entities of one kind: messages, calls, steps. Contract: every method returns the reason if the event is not legal, else undefined. */
export class OpenKind {
  readonly #name: string
  readonly #owners: Owners
  readonly #open: Map<string, Opened> = new Map()

  constructor(name: string, owners: Owners = new Map()) {
    this.#name = name
    this.#owners = owners
  }

  get opened(): Iterable<Opened> {
    return this.#open.values()
  }

  get ids(): Iterable<string> {
    return this.#open.keys()
  }

  begin(id: string, opened: Opened): string | undefined {
    if (this.#open.has(id)) return `${this.#name} ${id} is already open`
    const reason = checkOwner(this.#name, id, opened.owner, this.#owners)
    if (reason !== undefined) return reason
    if (!this.#owners.has(id)) this.#owners.set(id, opened.owner)
    this.#open.set(id, opened)
    return undefined
  }

  goOn(id: string, owner: string | undefined): string | undefined {
    const opened = this.#open.get(id)
    if (!opened) return `${this.#name} ${id} is not open`
    return owner === undefined || owner === opened.owner ? undefined : foreign(this.#name, id)
  }

  end(id: string, owner: string | undefined): string | undefined {
    const reason = this.goOn(id, owner)
    if (reason === undefined) this.#open.delete(id)
    return reason
  }
}

/** Checks the owner of an id. Contract: an event without a tag fits every owner. */
export function checkOwner(name: string, id: string, owner: string | undefined, owners: Owners): string | undefined {
  return owner === undefined || !owners.has(id) || owners.get(id) === owner ? undefined : foreign(name, id)
}

function foreign(name: string, id: string): string {
  return `${name} ${id} belongs to another agent`
}
