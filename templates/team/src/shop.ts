/** An order of a customer. */
export interface Order {
  readonly number: number
  readonly title: string
  readonly state: 'on its way' | 'delivered' | 'refunded'
}

/** A bookshop with made-up data, which is gone when the app ends. Put your own system in its place. */
export class Shop {
  readonly books: readonly string[] = [
    'The Sea Around Us, by Rachel Carson: how the oceans came to be',
    'Moby-Dick, by Herman Melville: a captain and a whale at sea',
    'The Left Hand of Darkness, by Ursula K. Le Guin: winter on another planet',
    'Thinking in Systems, by Donella Meadows: why things behave as they do',
  ]
  readonly #orders = new Map<number, Order>([
    [1001, { number: 1001, title: 'Moby-Dick', state: 'on its way' }],
    [1002, { number: 1002, title: 'Thinking in Systems', state: 'delivered' }],
    [1003, { number: 1003, title: 'The Sea Around Us', state: 'delivered' }],
  ])

  /** Finds an order. Throws if there is none. */
  order(number: number): Order {
    const found = this.#orders.get(number)
    if (!found) throw new Error(`there is no order ${number}`)
    return found
  }

  /** Pays an order back, once. */
  refund(number: number): Order {
    const refunded: Order = { ...this.order(number), state: 'refunded' }
    this.#orders.set(number, refunded)
    return refunded
  }
}
