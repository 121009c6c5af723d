import { calcPrice } from '@pydantic/genai-prices'
import { budget, genaiPrices } from '@troupe/handlers'
import type { MakeHandler } from '../app.ts'

/** Prices each model call, for the timeline of the page and the records; the demo model costs nothing. */
export const handler: MakeHandler = () => budget({ price: genaiPrices(calcPrice) })
