import { databaseStore } from '@troupe-apps/setup'
import { type Registrations, singleton } from '../app.ts'

/** Contract: `Assistant.stop` closes it, last of all. */
export const storeModule: Registrations<'store'> = {
  store: singleton(({ config }) => databaseStore(config.database)),
}
