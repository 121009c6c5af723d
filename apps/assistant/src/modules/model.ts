import type { ChatModel } from '@troupe/kernel'
import { asFunction, type Resolver } from 'awilix'
import type { Config } from '../config.ts'
import { demoModel } from '../model/demo-model.ts'
import { vendorModel } from '../model/vendor-model.ts'

export const modelModule: { readonly model: Resolver<ChatModel> } = {
  model: asFunction(({ config }: { config: Config }) =>
    config.vendor ? vendorModel(config.vendor) : demoModel(config),
  ).singleton(),
}
