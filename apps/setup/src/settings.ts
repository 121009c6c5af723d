import { type Database, readDatabase } from './database.ts'
import { readVendor, type VendorChoice } from './vendor.ts'

/** The settings that every app here reads from its environment. */
export interface Settings {
  /** Without one the app's demo model answers. */
  readonly vendor: VendorChoice | undefined
  readonly database: Database
  /** The folder that agents may read. */
  readonly folder: string
}

/** Reads the settings. Contract: throws `CONFIG_INVALID`, which says what to do. */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  return { vendor: readVendor(env), database: readDatabase(env), folder: env.TROUPE_FOLDER || '.' }
}
