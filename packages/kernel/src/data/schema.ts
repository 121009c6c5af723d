import type { Awaitable, JsonObject } from './json.ts'

/** A plain JSON Schema (draft 2020-12). */
export type JsonSchema = JsonObject

/** A Standard Schema that also gives JSON Schema (zod 4, arktype; valibot through its converter); declared structurally, so the kernel imports nothing. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    readonly validate: (
      value: unknown,
    ) => Awaitable<
      { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }
    >
    readonly jsonSchema: { readonly input: (options: { readonly target: string }) => Record<string, unknown> }
  }
}

/** One thing wrong with a value. */
export interface SchemaIssue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** What describes a value: tool parameters, structured output, sub-agent input. */
export type Schema = JsonSchema | StandardSchema
/** The type a schema describes: exact for a Standard Schema, read off a JSON Schema literal, `unknown` for a schema known only at run time. */
export type Infer<S> = S extends StandardSchema<infer Output> ? Output : FromJsonSchema<S>
/** The common part of JSON Schema at type level; whatever it does not know is `unknown`. */
export type FromJsonSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly type: infer T extends keyof Primitives }
      ? Primitives[T]
      : S extends { readonly type: 'array' }
        ? S extends { readonly items: infer I }
          ? FromJsonSchema<I>[]
          : unknown[]
        : S extends { readonly type: 'object'; readonly properties: infer P }
          ? Flat<FromProperties<P, S extends { readonly required: readonly (infer R)[] } ? R : never>>
          : unknown
type FromProperties<P, Required> = {
  -readonly [K in keyof P as K extends Required ? K : never]: FromJsonSchema<P[K]>
} & { -readonly [K in keyof P as K extends Required ? never : K]?: FromJsonSchema<P[K]> }
type Primitives = { string: string; number: number; integer: number; boolean: boolean; null: null }
type Flat<T> = { [K in keyof T]: T[K] }
/** Port: validates against a plain JSON Schema; filled by the packages that run tools, because it needs a library. */
export type JsonSchemaValidator = (schema: JsonSchema, value: unknown) => readonly SchemaIssue[]
/** The JSON Schema that is sent to a model. Contract: throws `SCHEMA_INVALID`; names the converter for a library that has no JSON side. */
export declare function toJsonSchema(schema: Schema): JsonSchema
/** Checks a value and returns what the schema makes of it. Contract: rejects with `VALIDATION_FAILED`, issues in `details`. */
export declare function validate<const S extends Schema>(
  schema: S,
  value: unknown,
  validator: JsonSchemaValidator,
): Promise<Infer<S>>
