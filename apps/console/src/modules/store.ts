import { databaseStore } from '@troupe-apps/setup'
import { type Registrations, singleton } from '../app.ts'

export const storeModule: Registrations<'store'> = {
  store: singleton(({ config }) => databaseStore(config.database)).disposer((store) => store[Symbol.asyncDispose]()),
}
