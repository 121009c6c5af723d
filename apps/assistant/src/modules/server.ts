import { perRequest, type Registrations, singleton } from '../app.ts'
import { api } from '../server/api.ts'
import { respond } from '../server/respond.ts'

export const serverModule: Registrations<'api' | 'respond'> = {
  api: singleton(api),
  respond: perRequest(({ request, agUi, api, pageFolder }) => {
    return () => respond({ request, agUi, api, pageFolder })
  }),
}
