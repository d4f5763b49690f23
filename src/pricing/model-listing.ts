/** A model as GET /v1/models shows it. */
import type { Model, Rates } from '../core/model.ts'
import { type Nano, perMillionFromPico } from '../core/money.ts'
import { usageClasses } from '../core/usage.ts'
import { chargeFor } from './charge.ts'

/** The listing; `cost` is in credits for 1,000 input and 1,000 output tokens, prices are exact decimal texts of USD. */
export const modelListing = (model: Model, creditNano: Nano) => {
  const usage = model.kind === 'chat' ? { input: 1_000, output: 1_000 } : { input: 1_000 }
  return {
    id: model.id,
    object: 'model' as const,
    created: 0,
    owned_by: model.vendor,
    kind: model.kind,
    cost: Number((chargeFor(model.price, usage) * 1_000_000n) / creditNano) / 1_000_000,
    pricing: {
      unit: 'token',
      ...perMillion(model.price.rates),
      tiers: model.price.tiers.map((tier) => ({
        above_input_tokens: tier.aboveInputTokens,
        ...perMillion(tier.rates),
      })),
      version: model.price.version,
    },
    context_length: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    capabilities: model.capabilities,
    discounted: model.discounted,
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

const perMillion = (rates: Rates): Record<string, string> => {
  const shown: Record<string, string> = {}
  for (const usageClass of usageClasses) {
    const rate = rates[usageClass]
    if (rate !== undefined) shown[`per_1m_${usageClass}_usd`] = perMillionFromPico(rate)
  }
  return shown
}
