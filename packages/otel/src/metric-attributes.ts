import type { Attributes } from '@opentelemetry/api'
import { ATTR, modelNameOf, OPERATION } from './conventions.ts'
import { remembered } from './remembered.ts'

type AttributesOf = (name: string) => Attributes

/**
 * The attributes of what is measured of something, by its name.
 * Contract: few values each, so neither ids nor threads; made once, because each call is measured several times.
 */
export const METRICS_OF: { readonly [component in keyof typeof OPERATION]: AttributesOf } = {
  run: remembered((name) => ({ [ATTR.operation]: OPERATION.run, [ATTR.workflow]: name })),
  agent: remembered((name) => ({ [ATTR.operation]: OPERATION.agent, [ATTR.agent]: name })),
  model: remembered((name) => {
    const { provider, model } = modelNameOf(name)
    return { [ATTR.operation]: OPERATION.model, [ATTR.provider]: provider, [ATTR.requestModel]: model }
  }),
  tool: remembered((name) => ({ [ATTR.operation]: OPERATION.tool, [ATTR.tool]: name })),
}

/** The attributes of the runs that are under way. */
export const activeRunsOf: AttributesOf = remembered((name) => ({ [ATTR.workflow]: name }))

/** The attributes of tokens: of all, of those of the request and of the answer, and of those of the cache. */
export interface TokenAttributes {
  readonly all: Attributes
  readonly input: Attributes
  readonly output: Attributes
  readonly read: Attributes
  readonly write: Attributes
}

/** Gives the attributes of the tokens of a model, by the name of the model that answered. */
export const tokensOf: (name: string) => (answered: string) => TokenAttributes = remembered((name) =>
  remembered((answered) => {
    const all = { ...METRICS_OF.model(name), [ATTR.responseModel]: modelNameOf(answered).model }
    const typed = (type: string) => ({ ...all, [ATTR.tokenType]: type })
    return { all, input: typed('input'), output: typed('output'), read: typed('read'), write: typed('write') }
  }),
)
