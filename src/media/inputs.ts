/**
 * Checks a call's inputs against its product's record: an unknown one is refused, with the name that was probably
 * meant.
 */
import type { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../core/json-body.ts'
import { invalid, type Refusal } from '../core/refusal.ts'
import { nearestName } from '../pricing/spelling.ts'
import type { MediaModel } from './product.ts'
import type { Inputs } from './shape.ts'

/** The inputs with their defaults, which are sent too; or the Refusal that names the first wrong input. */
export const readInputs = (model: Pick<MediaModel, 'inputs'>, given: Json | undefined): Inputs | Refusal => {
  if (!isObject(given)) return invalid('inputs', "'inputs' is required: an object with what the model takes.")
  const read = model.inputs.safeParse(given)
  if (read.success) return read.data as Inputs
  const { issues } = read.error
  // A misspelt name explains what is missing, so it is reported first.
  return refusalOf(model, given, issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0])
}

const refusalOf = (
  { inputs }: Pick<MediaModel, 'inputs'>,
  given: JsonObject,
  issue: z.core.$ZodIssue | undefined,
): Refusal => {
  const path = ['inputs', ...(issue?.path ?? [])].map(String).join('.')
  if (issue?.code !== 'unrecognized_keys')
    return invalid(path, issue && isMissing(given, issue) ? `'${path}' is required.` : wrong(path, issue))
  const name = `${path}.${issue.keys[0]}`
  const meant = nearestName(issue.keys[0] ?? '', Object.keys(inputs.shape))
  return invalid(
    name,
    `'${name}' is not an input of this model.${meant === undefined ? '' : ` Did you mean '${meant}'?`}`,
  )
}

const isMissing = (given: JsonObject, { path }: z.core.$ZodIssue): boolean =>
  path.reduce<unknown>((inside, name) => (inside as Record<PropertyKey, unknown>)?.[name], given) ===
  undefined

/** What the input must be, in the wording of the other refusals. */
const wrong = (path: string, issue: z.core.$ZodIssue | undefined): string => {
  switch (issue?.code) {
    case 'invalid_type':
      return `'${path}' must be ${/^[aeio]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}.`
    case 'invalid_value':
      return `'${path}' must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.join(', ')}.`
    case 'too_big':
      return `'${path}' must ${amount(issue.origin, 'at most', issue.maximum)}.`
    case 'too_small':
      return `'${path}' must ${amount(issue.origin, 'at least', issue.minimum)}.`
    default:
      return `'${path}': ${issue?.message ?? 'is not what the model takes'}.`
  }
}

const amount = (origin: string, bound: string, most: number | bigint): string => {
  if (origin === 'string') return `have ${bound} ${most} characters`
  return origin === 'array' ? `hold ${bound} ${most} items` : `be ${bound} ${most}`
}
