/**
 * What turnpike.yaml says about products that are not chat: prices for those that lack one or cost this operator
 * something else, and whole records of products that a vendor sells in the form of a known one.
 */
import { z } from 'zod'
import type { Json, JsonObject } from '../../core/json-body.ts'
import { type UsageClass, usageClasses } from '../../core/usage.ts'
import { type MediaModel, type UnpricedModel, unpricedOf, type VendorMedia } from '../../media/product.ts'
import { type RateCard, usd } from '../../media/rate-card.ts'
import { NoSuchModel } from '../../pricing/catalogue.ts'
import type { VendorSetup } from '../../vendors/setup.ts'

/** `0.002`, or `0.27 / 3600000` for that many units. */
const PRICE = /^(\d{1,9}(?:\.\d{1,12})?)(?:\s*\/\s*([1-9]\d{0,11}))?$/

const units = z.partialRecord(
  z.enum(usageClasses),
  z
    .union([z.string(), z.number()])
    .transform(String)
    .pipe(
      z
        .string()
        .regex(PRICE, 'must be USD a unit, such as "0.002", or for so many, such as "0.27 / 3600000"'),
    ),
)
const value = z.union([z.string(), z.number(), z.boolean()])
const row = z.strictObject({
  when: z.record(z.string(), z.union([value, z.array(value)])).optional(),
  units,
})

/** One product, by its id. */
export const mediaShape = z
  .strictObject({
    /** One price for each unit, or several of which the first that matches the inputs applies. */
    units: units.optional(),
    rows: z.array(row).min(1).optional(),
    /** For a new product: the known one whose requests and answers have the same form. */
    like: z.string().optional(),
    upstream_name: z.string().min(1).optional(),
    title: z.string().min(1).optional(),
    description: z.string().min(1).optional(),
    /** JSON Schema of its inputs, an object. */
    inputs: z.record(z.string(), z.json()).optional(),
    example: z.record(z.string(), z.json()).optional(),
    /** The most units of a call: a number, or the name of an input that contains it. */
    most: z.partialRecord(z.enum(usageClasses), z.union([z.number().positive(), z.string()])).optional(),
  })
  .refine(({ units, rows }) => (units === undefined) !== (rows === undefined), {
    message: "needs either 'units' or 'rows'",
  })

type FileMedia = z.infer<typeof mediaShape>

/** The vendors, with what the file says about their products. Throws an Error that names what is wrong. */
export const withFileMedia = (
  setups: readonly VendorSetup[],
  file: Readonly<Record<string, FileMedia>>,
): readonly VendorSetup[] => {
  const left = new Set(Object.keys(file))
  const changed = setups.map((setup) => {
    const { id, media } = setup.vendor
    const own = Object.entries(file).filter(([name]) => name.startsWith(`${id}/`))
    if (media === undefined || own.length === 0) return setup
    let next = media
    for (const [name, entry] of own) {
      next = withProduct(next, { id: name, name: name.slice(id.length + 1), vendor: id, entry })
      left.delete(name)
    }
    return { ...setup, vendor: { ...setup.vendor, media: next } }
  })
  const [stranger] = left
  if (stranger !== undefined) throw new NoSuchModel('media', stranger)
  return changed
}

type Named = {
  readonly id: string
  readonly name: string
  readonly vendor: string
  readonly entry: FileMedia
}

const withProduct = (media: VendorMedia, { id, name, vendor, entry }: Named): VendorMedia => {
  const known = recordOf(media, name)
  const record = known ?? newRecord(media, { id, name, vendor, entry })
  if (known !== undefined && entry.like !== undefined)
    throw new Error(`media.${id}.like: the product is known; give its price alone`)
  const most = 'card' in record ? record.card.most : record.most
  const { card, most: _most, ...rest } = { card: undefined, most: undefined, ...record }
  const priced: MediaModel = {
    ...rest,
    card: { ...card, rows: rowsOf(id, entry, most), most },
    source: 'turnpike.yaml',
  }
  return {
    ...media,
    models: [...media.models.filter((one) => one.name !== name), priced],
    waiting: (media.waiting ?? []).filter((one) => one.name !== name),
  }
}

const recordOf = (media: VendorMedia, name: string): MediaModel | UnpricedModel | undefined =>
  media.models.find((one) => one.name === name) ?? unpricedOf(media).find((one) => one.name === name)

/** Each row must price every unit that a call may cost, and the last row must match all calls. */
const rowsOf = (id: string, { units, rows = [] }: FileMedia, most: RateCard['most']): RateCard['rows'] => {
  const given = units === undefined ? rows : [{ units }]
  const counted = Object.keys(most)
  for (const { units } of given) {
    const missing = counted.find((unit) => units[unit as UsageClass] === undefined)
    if (missing !== undefined)
      throw new Error(`media.${id}: a price a unit of '${missing}' is missing; 0 is a price`)
    const stranger = Object.keys(units).find((unit) => !counted.includes(unit))
    if (stranger !== undefined)
      throw new Error(`media.${id}: it is not billed by '${stranger}' but by ${counted.join(', ')}`)
  }
  if (given.at(-1)?.when !== undefined)
    throw new Error(`media.${id}.rows: the last row must hold for all inputs: leave out 'when'`)
  const [first, ...others] = given.map(({ when, units }) => ({
    ...(when === undefined ? {} : { when: when as Readonly<Record<string, Json | readonly Json[]>> }),
    rates: Object.fromEntries(Object.entries(units).map(([unit, text]) => [unit, priceOf(text)])),
  }))
  if (first === undefined) throw new Error(`media.${id}: it has no price`)
  return [first, ...others]
}

const priceOf = (text: string) => {
  const [, amount = '0', per = '1'] = PRICE.exec(text) ?? []
  return usd(amount, Number(per))
}

const newRecord = (media: VendorMedia, { id, name, entry }: Named): UnpricedModel => {
  const { like, inputs, example, most } = entry
  const model = like === undefined ? undefined : recordOf(media, like.slice(like.indexOf('/') + 1))
  if (model === undefined)
    throw new Error(
      `media.${id}: there is no such product; a new one needs 'like', a known product of its vendor`,
    )
  if (inputs === undefined || example === undefined || most === undefined)
    throw new Error(`media.${id}: a new product needs inputs (JSON Schema), example and most`)
  const schema = schemaOf(id, inputs)
  if (!schema.safeParse(example).success) throw new Error(`media.${id}.example is not what its inputs take`)
  return {
    name,
    upstreamName: entry.upstream_name ?? name,
    category: model.category,
    title: entry.title ?? name,
    description: entry.description ?? model.description,
    inputs: schema,
    example: example as JsonObject,
    shape: model.shape,
    most: Object.fromEntries(Object.entries(most).map(([unit, count]) => [unit, countOf(id, schema, count)])),
    source: 'turnpike.yaml',
  }
}

/** Strict, whatever the schema says: an input that it does not name would reach the vendor unpriced. */
const schemaOf = (id: string, inputs: Readonly<Record<string, unknown>>): z.ZodObject => {
  const read = z.fromJSONSchema({ ...inputs, type: 'object', additionalProperties: false })
  if (!(read instanceof z.ZodObject))
    throw new Error(`media.${id}.inputs must be the JSON Schema of an object`)
  return read.strict()
}

/** A numeric input that every call has: it is required, or has a default. */
const countOf = (id: string, schema: z.ZodObject, count: number | string) => {
  if (typeof count === 'number') return () => count
  const input = schema.shape[count]
  const without = input === undefined ? undefined : z.safeParse(input, undefined)
  if (without === undefined || (without.success && typeof without.data !== 'number'))
    throw new Error(
      `media.${id}.most: '${count}' must be a number among the inputs, required or with a default`,
    )
  return (inputs: JsonObject) => Math.ceil(Number(inputs[count]))
}
