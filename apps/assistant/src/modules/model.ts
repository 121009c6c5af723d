import { vendorModel } from '@troupe-apps/setup'
import { type Registrations, singleton } from '../app.ts'
import { demoModel } from '../model/demo-model.ts'

export const modelModule: Registrations<'model'> = {
  model: singleton(({ config }) => (config.vendor ? vendorModel(config.vendor) : demoModel(config))),
}
