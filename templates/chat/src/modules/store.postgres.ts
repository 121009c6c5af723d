import { postgresStore } from '@troupe/store-postgres'
import { type Registrations, singleton } from '../app.ts'

/** Conversations are kept in PostgreSQL. */
export const storeModule: Registrations<'store'> = {
  store: singleton(() => {
    const url = process.env.DATABASE_URL
    if (!url) throw new Error('DATABASE_URL is missing: set it in .env, as .env.example shows')
    return postgresStore({ url })
  }).disposer((store) => store[Symbol.asyncDispose]()),
}
