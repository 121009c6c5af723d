import { asFunction, type Resolver } from 'awilix'
import { type Api, type ApiParts, api } from '../server/api.ts'
import { type RespondParts, respond } from '../server/respond.ts'

export const serverModule: {
  readonly api: Resolver<Api>
  readonly response: Resolver<Promise<Response>>
} = {
  api: asFunction((parts: ApiParts) => api(parts)).singleton(),
  // One per request, in the scope of that request.
  response: asFunction((parts: RespondParts) => respond(parts)).scoped(),
}
