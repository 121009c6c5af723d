import { type Registrations, singleton } from '../app.ts'
import { Shop } from '../shop.ts'

/** The shop that the tools work on. */
export const shopModule: Registrations<'shop'> = {
  shop: singleton(() => new Shop()),
}
