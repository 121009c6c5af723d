import type { ModelPart, ProviderMetadata } from '@troupe/kernel'
import { toMetadata } from './metadata.ts'

type BlockKind = 'text' | 'reasoning'
/** A stream part that belongs to a block. */
interface BlockPart {
  readonly type: `${BlockKind}-${'start' | 'delta' | 'end'}`
  readonly id: string
  readonly providerMetadata?: unknown
}

/**
 * Translates the text and reasoning of one answer. The kernel has one open part at a time, so a block ends when another part
 * begins; if the block continues later, that is a new part.
 */
export class Blocks {
  readonly #out: ModelPart[]
  /** Metadata of blocks that has not been passed on yet; the latest wins. */
  readonly #metadata: Record<BlockKind, Map<string, ProviderMetadata>> = { text: new Map(), reasoning: new Map() }
  #open: { readonly kind: BlockKind; readonly id: string } | undefined

  constructor(out: ModelPart[]) {
    this.#out = out
  }

  start(part: BlockPart): void {
    const metadata = toMetadata(part.providerMetadata)
    if (metadata) this.#metadata[kindOf(part)].set(part.id, metadata)
  }

  delta(part: BlockPart & { readonly delta: string }): void {
    if (part.providerMetadata) this.start(part)
    if (part.delta !== '') this.#write(kindOf(part), part.id, part.delta)
  }

  end(part: BlockPart): void {
    this.start(part)
    this.#end(kindOf(part), part.id)
  }

  /** Ends the open part, because another one begins. */
  close(): void {
    if (!this.#open) return
    const { kind, id } = this.#open
    const metadata = this.#metadata[kind].get(id)
    this.#metadata[kind].delete(id)
    this.#open = undefined
    this.#out.push({ type: 'part-end', ...(metadata && { metadata }) })
  }

  /** Ends the blocks that an incomplete answer has left open. */
  finish(): void {
    this.close()
    for (const kind of ['reasoning', 'text'] as const) {
      for (const id of [...this.#metadata[kind].keys()]) this.#end(kind, id)
    }
  }

  /** Contract: a block without text is left out, unless it has metadata: then an empty delta opens its part. */
  #end(kind: BlockKind, id: string): void {
    if (!this.#isOpen(kind, id)) {
      if (!this.#metadata[kind].has(id)) return
      this.#write(kind, id, '')
    }
    this.close()
  }

  #write(kind: BlockKind, id: string, delta: string): void {
    if (!this.#isOpen(kind, id)) {
      this.close()
      this.#open = { kind, id }
    }
    this.#out.push({ type: `${kind}-delta`, delta })
  }

  #isOpen(kind: BlockKind, id: string): boolean {
    return this.#open?.id === id && this.#open.kind === kind
  }
}

function kindOf({ type }: BlockPart): BlockKind {
  return type.startsWith('t') ? 'text' : 'reasoning'
}
