import { type Registrations, singleton } from '../app.ts'
import { demoModel } from '../demo-model.ts'

/** The demo model; the README says how to replace it. */
export const modelModule: Registrations<'model'> = {
  model: singleton(demoModel),
}
