/** A model as GET /v1/models shows it. */
import type { Model, Price, UnitPrices } from '../core/model.ts'
import { type Nano, perMillionFromPico } from '../core/money.ts'
import { usageClasses } from '../core/usage.ts'
import { chargeFor, priceOf, withCall } from '../pricing/charge.ts'
import { compared, unitOf } from '../pricing/unit.ts'
import { handlingShown } from '../vendors/handled-at.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import { capabilitiesOf, categoryOf } from './capabilities.ts'
import { titleOf } from './shelf.ts'

/** Vendors do not say when a model was released; clients read this value as unknown. */
const UNKNOWN_DATE = new Date(0).toISOString()

/**
 * The listing, with every member that clients of chat completions and of messages read. `cost` is in credits, for the
 * unit named in `cost_unit`; prices are exact decimal texts of USD.
 */
export const modelListing = (model: Model, creditNano: Nano, setup?: VendorSetup) => {
  const price = priceOf(model)
  const { usage, name: per } = compared(model, price)
  return {
    id: model.id,
    object: 'model' as const,
    type: 'model' as const,
    created: 0,
    created_at: UNKNOWN_DATE,
    display_name: titleOf(model),
    owned_by: model.vendor,
    kind: model.kind,
    category: categoryOf(model),
    cost: Number((chargeFor(price, withCall(price, usage)) * 1_000_000n) / creditNano) / 1_000_000,
    cost_unit: `credits / ${per}`,
    pricing: pricingOf(model),
    ...(model.coming === undefined
      ? {}
      : {
          coming: { from: new Date(model.coming.from).toISOString(), pricing: pricingOf(model.coming.model) },
        }),
    context_length: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    max_input_tokens: model.kind === 'media' ? null : model.contextTokens,
    max_tokens: model.kind === 'chat' ? model.maxOutputTokens : null,
    capabilities: capabilitiesOf(model),
    handling: handlingShown(setup, model),
    discounted: model.cheaper !== undefined,
    ...(model.aliases === undefined ? {} : { aliases: model.aliases }),
    ...(model.endsAt === undefined ? {} : { ends: new Date(model.endsAt).toISOString().slice(0, 10) }),
  }
}

const pricingOf = (model: Model) => {
  const price = priceOf(model)
  return {
    unit: unitOf(price),
    ...pricesOf(price),
    // A call costs this if the vendor serves it in its usual tier after all.
    ...(model.cheaper === undefined ? {} : { otherwise: pricesOf(model.price) }),
    version: price.version,
  }
}

/** The same for clients of messages, whose `capabilities` have another form; they read null as unknown. */
export const messagesListing = (model: Model, creditNano: Nano, setup?: VendorSetup) => {
  const listing = modelListing(model, creditNano, setup)
  const retires = listing.ends === undefined ? null : `${listing.ends}T00:00:00Z`
  return {
    ...listing,
    capabilities: null,
    lifecycle: retires === null ? 'active' : 'deprecated',
    line: null,
    deprecated_at: null,
    retires_at: retires,
  }
}

/** A model in the generate-content style's list. */
export const geminiListing = (model: Model) => ({
  name: `models/${model.id}`,
  version: model.price.version,
  displayName: model.id,
  inputTokenLimit: model.contextTokens,
  outputTokenLimit: model.maxOutputTokens,
  supportedGenerationMethods:
    model.kind === 'embeddings'
      ? ['embedContent', 'batchEmbedContents']
      : ['generateContent', 'streamGenerateContent', 'countTokens'],
})

/** The address of Cohere's clients that calls a model, by their name for it. */
const cohereEndpoints = ({ kind, product }: Model): readonly ('chat' | 'embed' | 'rerank')[] => {
  if (product === undefined) return [kind === 'embeddings' ? 'embed' : 'chat']
  return product.category === 'utility' && product.inputs.includes('documents') ? ['rerank'] : []
}

/** A model in the list of Cohere's clients. Source: Cohere API reference, "List Models". */
export const cohereListing = (model: Model) => ({
  name: model.id,
  is_deprecated: model.endsAt !== undefined,
  endpoints: cohereEndpoints(model),
  finetuned: false,
  context_length: model.contextTokens,
  default_endpoints: [],
})

const pricesOf = ({ rates, tiers }: Price) => ({
  ...perMillion(rates),
  tiers: tiers.map((tier) => ({ above_input_tokens: tier.aboveInputTokens, ...perMillion(tier.rates) })),
})

const perMillion = (rates: UnitPrices): Record<string, string> => {
  const shown: Record<string, string> = {}
  for (const usageClass of usageClasses) {
    const rate = rates[usageClass]
    if (rate !== undefined) shown[`per_1m_${usageClass}_usd`] = perMillionFromPico(rate)
  }
  return shown
}
