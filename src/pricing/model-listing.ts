/** A model as GET /v1/models shows it. */
import type { Model, Price, Rates } from '../core/model.ts'
import { type Nano, perMillionFromPico } from '../core/money.ts'
import { usageClasses } from '../core/usage.ts'
import { chargeFor, priceOf, withCall } from './charge.ts'

/** The listing; `cost` is in credits for 1,000 input and 1,000 output tokens, prices are exact decimal texts of USD. */
export const modelListing = (model: Model, creditNano: Nano) => {
  const price = priceOf(model)
  const usage = model.kind === 'chat' ? { input: 1_000, output: 1_000 } : { input: 1_000 }
  return {
    id: model.id,
    object: 'model' as const,
    created: 0,
    owned_by: model.vendor,
    kind: model.kind,
    cost: Number((chargeFor(price, withCall(price, usage)) * 1_000_000n) / creditNano) / 1_000_000,
    pricing: {
      unit: 'token',
      ...pricesOf(price),
      // What the vendor serves in its usual tier after all costs this.
      ...(model.cheaper === undefined ? {} : { otherwise: pricesOf(model.price) }),
      version: price.version,
    },
    context_length: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    capabilities: model.capabilities,
    discounted: model.cheaper !== undefined,
    ...(model.aliases === undefined ? {} : { aliases: model.aliases }),
    ...(model.endsAt === undefined ? {} : { ends: new Date(model.endsAt).toISOString().slice(0, 10) }),
  }
}

/** A model as the generate-content style lists it. */
export const geminiListing = (model: Model) => ({
  name: `models/${model.id}`,
  version: model.price.version,
  displayName: model.id,
  inputTokenLimit: model.contextTokens,
  outputTokenLimit: model.maxOutputTokens,
  supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
})

const pricesOf = ({ rates, tiers }: Price) => ({
  ...perMillion(rates),
  tiers: tiers.map((tier) => ({ above_input_tokens: tier.aboveInputTokens, ...perMillion(tier.rates) })),
})

const perMillion = (rates: Rates): Record<string, string> => {
  const shown: Record<string, string> = {}
  for (const usageClass of usageClasses) {
    const rate = rates[usageClass]
    if (rate !== undefined) shown[`per_1m_${usageClass}_usd`] = perMillionFromPico(rate)
  }
  return shown
}
