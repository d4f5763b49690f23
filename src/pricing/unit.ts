/** The unit that a model's price refers to, and a handful of such units for comparing prices. */
import type { Model, Price } from '../core/model.ts'
import { tokenClasses, type Usage, type UsageClass, usageClasses } from '../core/usage.ts'

/** All other classes have a unit of their own. */
const inTokens: ReadonlySet<UsageClass> = new Set(tokenClasses)

/** How many units a comparison uses, and what to call them; by default one. */
const handfuls: { readonly [Class in UsageClass]?: readonly [count: number, name: string] } = {
  pixel: [1_000_000, 'million pixels'],
  video_ms: [1_000, 'second of video'],
  audio_ms: [1_000, 'second of sound'],
  character: [1_000, '1,000 characters'],
  credit: [1, 'credit of the vendor'],
  cost: [1_000_000_000, "USD of the vendor's bill"],
}

/** How many units of a class its price is told for, and their name: a million tokens of that name, or a handful. */
export const pricedBy = (name: string): readonly [count: number, words: string] => {
  const one = name as UsageClass
  const [count, words] = handfuls[one] ?? [1, name.replaceAll('_', ' ')]
  return inTokens.has(one) ? [1_000_000, words] : [count, `/ ${words}`]
}

/** `token`, or the class that calls are counted in, such as `image`. */
export const unitOf = ({ rates }: Price): UsageClass | 'token' => {
  const priced = usageClasses.filter((one) => rates[one] !== undefined)
  const own = priced.filter((one) => !inTokens.has(one))
  return (
    own.find((one) => one !== 'call' && one !== 'web_search') ??
    (priced.length > own.length ? 'token' : 'call')
  )
}

/** The class of tokens that a model produces. */
export const outputClass = ({ kind }: Pick<Model, 'kind'>, { rates }: Price): UsageClass =>
  kind === 'chat'
    ? 'output'
    : ((['output_image', 'output_audio', 'output'] as const).find((one) => rates[one] !== undefined) ??
      'output')

/** A usage for comparing prices, with its name: 1,000 tokens each way, or a handful of units. */
export const compared = (model: Model, price: Price): { readonly usage: Usage; readonly name: string } => {
  const unit = unitOf(price)
  if (unit !== 'token') {
    const [count, name] = handfuls[unit] ?? [1, unit]
    return { usage: { [unit]: count }, name }
  }
  return model.kind === 'embeddings'
    ? { usage: { input: 1_000 }, name: '1,000 input tokens' }
    : {
        usage: { input: 1_000, [outputClass(model, price)]: 1_000 },
        name: '1,000 input and 1,000 output tokens',
      }
}
