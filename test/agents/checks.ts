/** Compares, after a program ran, what it sent, what the vendor saw and counted, and what was charged. */
import type { Json } from '../../src/core/json-body.ts'
import type { Exchange } from './exchange.ts'
import { priceOf } from './house.ts'
import { type Dialect, type Sighting, sellerOf } from './vendor-host.ts'

/** The cost of the vendors' counts by the price list, in nano-USD. */
export const costOf = (seen: readonly Sighting[]): number =>
  seen.reduce((sum, { counts, dialect }) => {
    if (counts === undefined) return sum
    const { input, cacheRead, cacheWrite, output } = priceOf[sellerOf(dialect)]
    return (
      sum +
      counts.input * input +
      counts.cacheRead * cacheRead +
      counts.cacheWrite * cacheWrite +
      counts.output * output
    )
  }, 0)

/** The cost that the answers named, in nano-USD: in a header, or in a line or a member at the end of a stream. */
export const namedCost = (exchanges: readonly Exchange[]): number =>
  exchanges.reduce((sum, { answered, answer }) => {
    const line = [...answer.matchAll(/(?:: x-cost-usd: |"cost":)(\d+(?:\.\d+)?(?:e-?\d+)?)/g)].at(-1)?.[1]
    return sum + Math.round(Number(answered.get('x-cost-usd') ?? line ?? '0') * 1e9)
  }, 0)

/** Where a dialect keeps the conversation, by which we find a request again at the vendor. */
const conversation: Readonly<Record<Dialect, string>> = {
  chat: 'messages',
  messages: 'messages',
  gemini: 'contents',
  responses: 'input',
}

/**
 * What may differ where caller and vendor speak the same dialect: the model's name at the vendor, and what the meter
 * needs.
 */
const ours: Readonly<Record<Dialect, readonly string[]>> = {
  chat: ['model', 'max_tokens', 'max_completion_tokens', 'stream_options'],
  messages: ['model', 'max_tokens'],
  gemini: ['model'],
  responses: ['model', 'max_output_tokens'],
}

const same = (a: Json | undefined, b: Json | undefined): boolean => Bun.deepEquals(a, b)

const notCarried = ({ answered }: Exchange): string[] =>
  (answered.get('x-not-carried') ?? '').split(',').map((name) => name.trim())

/** The member, or something in it, was named to the caller. */
const isNamed = (exchange: Exchange, name: string): boolean =>
  notCarried(exchange).some((one) => one === name || one.startsWith(`${name} `) || one.startsWith(`${name}.`))

/**
 * Members and betas that the program sent, that did not reach a vendor of the same dialect, and that no answer named.
 */
export const lostOnTheWay = (
  speaks: Dialect,
  exchanges: readonly Exchange[],
  seen: readonly Sighting[],
): string[] => {
  const key = conversation[speaks]
  const lost = new Set<string>()
  for (const exchange of exchanges) {
    if (exchange.body[key] === undefined || /count_?tokens/i.test(exchange.path) || exchange.status >= 400)
      continue
    const arrived = seen.find(({ body }) => same(body[key], exchange.body[key]))
    if (arrived === undefined) {
      lost.add(`${key}, as it was sent`)
      continue
    }
    for (const [name, value] of Object.entries(exchange.body))
      if (!ours[speaks].includes(name) && !same(arrived.body[name], value) && !isNamed(exchange, name))
        lost.add(name)
    for (const beta of betasOf(exchange.headers))
      if (!betasOf(arrived.headers).includes(beta) && !notCarried(exchange).join().includes(beta))
        lost.add(`anthropic-beta: ${beta}`)
  }
  return [...lost]
}

const betasOf = (headers: Headers): string[] =>
  (headers.get('anthropic-beta') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

/** Tokens that the vendors counted in all, as a program adds them up. */
export const countsIn = (seen: readonly Sighting[]): { input: number; output: number } => ({
  input: seen.reduce((sum, { counts }) => sum + inputOf(counts), 0),
  output: seen.reduce((sum, { counts }) => sum + (counts?.output ?? 0), 0),
})

const inputOf = (counts: Sighting['counts']): number =>
  counts === undefined ? 0 : counts.input + counts.cacheRead + counts.cacheWrite
