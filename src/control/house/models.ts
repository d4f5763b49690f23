/** Acts that show what is sold: models with their prices, and what a run of each takes. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { refuse } from '../../core/refusal.ts'
import { modelListing } from '../../products/model-listing.ts'
import { inputSchemaOf } from '../../products/schema.ts'
import { act } from '../act.ts'
import { name } from '../read.ts'
import { time } from '../shown-key.ts'

const pricesIn = (pricing: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(pricing).flatMap(([called, price]) =>
      called.startsWith('per_1m_') && typeof price === 'string' ? [[called.slice(7, -4), price]] : [],
    ),
  )

const standing = z.enum(['yes', 'on_request', 'no', 'unknown'])

export const modelList = act({
  name: 'model.list',
  summary: 'The models that are sold, with their prices.',
  reads: ['read_own', 'system'],
  input: {},
  shows: namedObject('ModelsSold', {
    data: z.array(
      z.object({
        id: z.string(),
        vendor: z.string(),
        category: z.string(),
        context_length: z.int(),
        max_output_tokens: z.int(),
        capabilities: z.array(z.string()),
        prices: z.record(z.string(), z.string()).describe('USD per million units, by class'),
        unit: z.string(),
        coming: z
          .object({ from: time, prices: z.record(z.string(), z.string()) })
          .nullable()
          .describe('Its next price'),
        aliases: z.array(z.string()),
        handling: z
          .object({ zdr: standing, no_training: standing, region: z.string().nullable() })
          .describe('How its vendor handles calls, as conditions see it'),
      }),
    ),
  }),
  does: async ({ control: { offering, options } }) => ({
    data: offering.catalogue.list().map((model) => {
      const listing = modelListing(model, options.creditNano, offering.vendors?.get(model.vendor))
      const { id, owned_by, category, pricing, coming, context_length, max_output_tokens, capabilities } =
        listing
      return {
        id,
        vendor: owned_by,
        category,
        context_length,
        max_output_tokens,
        capabilities: [...capabilities],
        prices: pricesIn(pricing),
        coming: coming === undefined ? null : { from: coming.from, prices: pricesIn(coming.pricing) },
        unit: pricing.unit,
        aliases: [...(model.aliases ?? [])],
        handling: listing.handling,
      }
    }),
  }),
})

/** The same description that checks a model's calls. */
export const modelInputs = act({
  name: 'model.inputs',
  summary: 'What a run of the model `model` takes, as JSON schema.',
  reads: ['read_own', 'system'],
  input: { model: name },
  shows: namedObject('ModelInputs', {
    model: z.string(),
    input_schema: z.record(z.string(), z.unknown()).describe('JSON schema'),
  }),
  does: async ({ control: { offering } }, { model: named }) => {
    const model = offering.catalogue.find(named)
    if (model === undefined) throw refuse('not_found', 'There is no such model.')
    return { model: model.id, input_schema: inputSchemaOf(model) }
  },
})
