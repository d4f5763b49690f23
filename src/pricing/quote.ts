/**
 * Quotes: the most a call can cost before anyone has counted a token. The charge never exceeds the quote for any usage
 * that the model's and the caller's bounds allow.
 */
import type { InputSize } from '../core/call.ts'
import type { Model, UnitPrices } from '../core/model.ts'
import { type Nano, nanoFromPicoUp, nanoFromSafePicoUp, type Pico } from '../core/money.ts'
import type { UsageClass } from '../core/usage.ts'
import { rateOf, ratesFor } from './charge.ts'

/** Tokens that a vendor's template may add beyond what the JSON around the text already allows for. */
const TEMPLATE_TOKENS = 64
/** A second of audio takes at least this many base64 characters in any format that vendors accept (about 8 kbit/s)… */
const AUDIO_CHARACTERS_A_SECOND = 1_300
/** …and at most this many tokens. */
const AUDIO_TOKENS_A_SECOND = 50

const textClasses: readonly UsageClass[] = [
  'input',
  'cache_read',
  'cache_write',
  'cache_write_1h',
  'input_image',
]
const audioClasses: readonly UsageClass[] = ['input_audio', 'cache_read_audio', ...textClasses]
const outputClasses: readonly UsageClass[] = ['output', 'reasoning']
const spokenClasses: readonly UsageClass[] = [...outputClasses, 'output_audio', 'output_image']

/**
 * The most input tokens that the call can have: no byte-level tokenizer makes more tokens than bytes, and no chat model
 * takes more than its context; with tools that the vendor runs, it may take that in each round. A call for embeddings has many inputs, each of which may fill the context.
 */
export const inputBound = (model: Model, size: InputSize): number => {
  if (size.unbounded === true) return model.contextTokens * (size.hosted?.rounds ?? 1)
  const most = unboundedInput(model, size)
  return model.kind === 'embeddings' ? most : Math.min(most, model.contextTokens)
}

const unboundedInput = (model: Model, size: InputSize): number =>
  (size.textTokens ?? size.textBytes) +
  TEMPLATE_TOKENS +
  size.images * model.imageTokensMax +
  audioTokens(size)

const audioTokens = (size: InputSize): number =>
  size.audioBytes === 0
    ? 0
    : (Math.ceil(size.audioBytes / AUDIO_CHARACTERS_A_SECOND) + 1) * AUDIO_TOKENS_A_SECOND

const dearest = (rates: UnitPrices, classes: readonly UsageClass[]): Pico => {
  let highest = 0
  for (const usageClass of classes) highest = Math.max(highest, rateOf(rates, usageClass))
  return highest
}

type Dearest = {
  readonly input: Pico
  readonly output: Pico
  /** The call itself, with the searches that it may make. */
  readonly call: Pico
}

const dearestOf = (
  rates: UnitPrices,
  input: readonly UsageClass[],
  output: readonly UsageClass[],
): Dearest => ({
  input: dearest(rates, input),
  output: dearest(rates, output),
  call: rateOf(rates, 'call'),
})

/**
 * The highest rates that an input of up to `tokens` can meet: of each tier it may reach, the dearest class on each
 * side.
 */
const dearestRates = (model: Model, size: InputSize, tokens: number): Dearest => {
  const input = size.audioBytes > 0 || size.unbounded === true ? audioClasses : textClasses
  const output = model.capabilities.includes('audio') ? spokenClasses : outputClasses
  let highest = dearestOf(model.price.rates, input, output)
  for (const tier of model.price.tiers) {
    if (tokens <= tier.aboveInputTokens) break
    const reached = dearestOf(ratesFor(model.price, tier.aboveInputTokens + 1), input, output)
    highest = {
      input: Math.max(highest.input, reached.input),
      output: Math.max(highest.output, reached.output),
      call: Math.max(highest.call, reached.call),
    }
  }
  const searches = (size.hosted?.searches ?? 0) * (model.price.rates.web_search ?? 0)
  return searches === 0 ? highest : { ...highest, call: highest.call + searches }
}

/** The most that the call can cost with up to `maxOutput` tokens in each of `choices` answers. */
export const ceiling = (model: Model, size: InputSize, maxOutput: number, choices: number): Nano => {
  const tokens = inputBound(model, size)
  const rates = dearestRates(model, size, tokens)
  const small = tokens * rates.input + maxOutput * choices * rates.output + rates.call
  if (size.compacts === undefined && Number.isSafeInteger(small)) return nanoFromSafePicoUp(small)
  return nanoFromPicoUp(
    BigInt(tokens) * BigInt(rates.input) +
      BigInt(maxOutput) * BigInt(choices) * BigInt(rates.output) +
      BigInt(rates.call) +
      summaryBound(model, size, tokens, rates),
  )
}

/** The most that summaries cost which the vendor writes before each round: the input once more, and what it writes. */
const summaryBound = (model: Model, size: InputSize, tokens: number, rates: Dearest): bigint =>
  size.compacts === true
    ? BigInt(size.hosted?.rounds ?? 1) *
      (BigInt(tokens) * BigInt(rates.input) + BigInt(model.maxOutputTokens) * BigInt(rates.output))
    : 0n

/** The largest output bound, up to the model's own, whose ceiling fits the budget; 0 if none does. */
export const affordableOutput = (model: Model, size: InputSize, choices: number, budget: Nano): number => {
  const tokens = inputBound(model, size)
  const rates = dearestRates(model, size, tokens)
  const input = BigInt(tokens) * BigInt(rates.input) + summaryBound(model, size, tokens, rates)
  const left = budget * 1_000n - input - BigInt(rates.call)
  if (left < 0n) return 0
  const each = BigInt(choices) * BigInt(rates.output)
  if (each === 0n) return model.maxOutputTokens
  const affordable = left / each
  return affordable > BigInt(model.maxOutputTokens) ? model.maxOutputTokens : Number(affordable)
}

/**
 * Whether the tools that the vendor runs have a price for the model. If the price depends on the length of each of several
 * rounds it is not known: the usage is a sum over the rounds.
 */
export const hostedArePriced = ({ price }: Model, rounds: number): boolean =>
  price.rates.web_search !== undefined && (price.tiers.length === 0 || rounds === 1)

/** The smallest useful charge: the input and one token of output. */
export const smallestUseful = (model: Model, size: InputSize): Nano =>
  ceiling(model, size, model.kind === 'chat' ? 1 : 0, 1)

const NO_INPUT: InputSize = { textBytes: 0, images: 0, audioBytes: 0 }

/**
 * A cap that leaves less than this charge is used up, and its key is disabled: a shorter prompt would not fit either.
 */
export const usedUpBelow = (model: Model): Nano => {
  let least = leastOfModels.get(model)
  if (least === undefined) {
    least = smallestUseful(model, NO_INPUT)
    leastOfModels.set(model, least)
  }
  return least
}

/** Cached, because every call needs it. */
const leastOfModels = new WeakMap<Model, Nano>()
