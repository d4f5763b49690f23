/** JSON Schema as agents read it: by a third party's validator, which also fills in the defaults. */
import Ajv from 'ajv/dist/2020.js'

const ajv = new Ajv({ strict: false, useDefaults: true, validateFormats: false, unicode: false })
const known = new WeakMap<object, ReturnType<typeof ajv.compile>>()

/** Why a value does not fit a schema; its missing members get their defaults. */
export const wrongBy = (schema: object, value: unknown): string[] => {
  const check = known.get(schema) ?? ajv.compile(schema)
  known.set(schema, check)
  return check(value)
    ? []
    : (check.errors ?? []).map(({ instancePath, message = '' }) => `${instancePath} ${message}`)
}
