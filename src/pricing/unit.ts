/** What a model's price is the price of: the unit it is counted in, and a handful of units that people compare by. */
import type { Model, Price } from '../core/model.ts'
import { tokenClasses, type Usage, type UsageClass, usageClasses } from '../core/usage.ts'

/** All other classes have a unit of their own. */
const inTokens: ReadonlySet<UsageClass> = new Set(tokenClasses)

/** How many of a unit are compared by, and what that is called; one where nothing else is said. */
const handfuls: { readonly [Class in UsageClass]?: readonly [count: number, name: string] } = {
  pixel: [1_000_000, 'million pixels'],
  video_ms: [1_000, 'second of video'],
  audio_ms: [1_000, 'second of sound'],
  character: [1_000, '1,000 characters'],
  credit: [1, 'credit of the vendor'],
  cost: [1_000_000_000, "USD of the vendor's bill"],
}

/** `token`, or the class that calls are counted in, such as `image`. */
export const unitOf = ({ rates }: Price): UsageClass | 'token' => {
  const priced = usageClasses.filter((one) => rates[one] !== undefined)
  const own = priced.filter((one) => !inTokens.has(one))
  return own.find((one) => one !== 'call') ?? (priced.length > own.length ? 'token' : 'call')
}

/** The class of tokens that a model makes. */
export const outputClass = ({ kind }: Pick<Model, 'kind'>, { rates }: Price): UsageClass =>
  kind === 'chat'
    ? 'output'
    : ((['output_image', 'output_audio', 'output'] as const).find((one) => rates[one] !== undefined) ??
      'output')

/** A usage to compare prices by, and what it is called: 1,000 tokens each way, or a handful of the unit. */
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
