/**
 * Refreshes src/pricing/catalogue.json from two catalogues of npm: prices from @pydantic/genai-prices (MIT), limits and
 * kinds of input from @oh-my-pi/pi-catalog (MIT, packed into a temporary folder), and facts that neither has from
 * src/pricing/knowledge.json. Run: npm run catalogue.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { $ } from 'bun'
import { vendors } from '../src/vendors/index.ts'
import { type Known, unknownNames, withKnowledge } from './catalogue-knowledge.ts'

const PI_VERSION = '18.2.11'
/** Models that are not plain text chat or embeddings, or whose calls cost more than their tokens. */
const LEFT_OUT =
  /realtime|transcribe|whisper|tts|audio|image|moderation|computer|search|deep-research|dall-e|sora|guard|ocr|rerank|lyria|veo|imagen|robot|live|sonar|compound|voxtral/i
const EMBEDDING = /embed|bge-|e5-|gte-|m2-bert/i
/** For a model whose longest answer no catalogue gives. */
const USUAL_OUTPUT = 16_384

type Amount = number | { base: number; tiers: { start: number; price: number }[] }
type Prices = Record<string, Amount | undefined>
type Dated = { constraint?: { start_date?: string; type: string }; prices: Prices }
type PriceModel = {
  id: string
  match?: unknown
  context_window?: number
  prices: Prices | Dated[]
  deprecated?: boolean
}
type PiModel = {
  reasoning?: boolean
  input?: string[]
  contextWindow?: number
  maxTokens?: number
  cost?: Record<string, number>
  compat?: { supportsToolChoice?: boolean }
}
type Entry = {
  rates: Record<string, number>
  tiers?: { above: number; rates: Record<string, number> }[]
  context: number
  output: number
  kind?: 'embeddings'
  has: string
}

/** From the price catalogue's names to ours. */
const classes: Record<string, string> = {
  input_mtok: 'input',
  cache_read_mtok: 'cache_read',
  cache_write_mtok: 'cache_write',
  cache_write_1h_mtok: 'cache_write_1h',
  input_audio_mtok: 'input_audio',
  cache_audio_read_mtok: 'cache_read_audio',
  input_image_mtok: 'input_image',
  output_mtok: 'output',
  output_reasoning_mtok: 'reasoning',
  output_audio_mtok: 'output_audio',
  output_image_mtok: 'output_image',
}

/** USD a million units as pico-USD a unit, rounded up where the catalogue has more digits than a pico-dollar. */
const pico = (usd: number): number => Math.ceil(Number((usd * 1e6).toPrecision(12)))

const today = new Date().toISOString().slice(0, 10)

/** The prices of today; where they depend on the hour, the highest. */
const pricesNow = (prices: Prices | Dated[]): Prices => {
  if (!Array.isArray(prices)) return prices
  const dated = prices.filter(
    (one) => one.constraint === undefined || (one.constraint.start_date ?? today) <= today,
  )
  if (dated.some((one) => one.constraint !== undefined && one.constraint.start_date === undefined))
    return (
      dated.map((one) => one.prices).sort((a, b) => baseOf(b.output_mtok) - baseOf(a.output_mtok))[0] ?? {}
    )
  return (
    dated
      .sort((a, b) => (a.constraint?.start_date ?? '').localeCompare(b.constraint?.start_date ?? ''))
      .at(-1)?.prices ?? {}
  )
}

const baseOf = (amount: Amount | undefined): number =>
  typeof amount === 'object' ? amount.base : (amount ?? 0)

const ratesOf = (prices: Prices): Pick<Entry, 'rates' | 'tiers'> => {
  const rates: Record<string, number> = {}
  const tiers = new Map<number, Record<string, number>>()
  for (const [theirs, ours] of Object.entries(classes)) {
    const amount = prices[theirs]
    if (amount === undefined) continue
    rates[ours] = pico(baseOf(amount))
    if (typeof amount === 'object')
      for (const { start, price } of amount.tiers)
        tiers.set(start, { ...tiers.get(start), [ours]: pico(price) })
  }
  if (prices.requests_kcount !== undefined) rates.call = pico(baseOf(prices.requests_kcount) * 1000)
  const sorted = [...tiers].sort(([a], [b]) => a - b).map(([above, tier]) => ({ above, rates: tier }))
  return { rates, ...(sorted.length === 0 ? {} : { tiers: sorted }) }
}

const loadPrices = async (): Promise<Record<string, PriceModel[]>> => {
  // The package exports functions that compute in floats. We want its table, so we read it from the module's text.
  const text = readFileSync(join('node_modules', '@pydantic', 'genai-prices', 'dist', 'index.js'), 'utf8')
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-prices-'))
  try {
    writeFileSync(join(folder, 'table.mjs'), `${text}\nexport { E as table }\n`)
    const module: { table: { id: string; models: PriceModel[] }[] } = await import(join(folder, 'table.mjs'))
    return Object.fromEntries(module.table.map((provider) => [provider.id, provider.models]))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const loadLimits = async (): Promise<Record<string, Record<string, PiModel>>> => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-limits-'))
  try {
    await $`npm pack --loglevel=error @oh-my-pi/pi-catalog@${PI_VERSION} --silent`.cwd(folder).quiet()
    await $`tar xzf ${`oh-my-pi-pi-catalog-${PI_VERSION}.tgz`}`.cwd(folder).quiet()
    return JSON.parse(readFileSync(join(folder, 'package', 'src', 'models.json'), 'utf8'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Exact names a model of the price table goes by. */
const namesOf = (model: PriceModel): string[] => {
  const names: string[] = [model.id]
  const visit = (clause: unknown): void => {
    if (typeof clause !== 'object' || clause === null) return
    for (const [key, value] of Object.entries(clause)) {
      if (key === 'equals' && typeof value === 'string') names.push(value)
      else if (key === 'or' && Array.isArray(value)) for (const each of value) visit(each)
    }
  }
  visit(model.match)
  return [...new Set(names)]
}

const piPrices = (cost: Record<string, number> | undefined): Prices => ({
  input_mtok: cost?.input,
  output_mtok: cost?.output,
  ...(cost?.cacheRead ? { cache_read_mtok: cost.cacheRead } : {}),
  ...(cost?.cacheWrite ? { cache_write_mtok: cost.cacheWrite } : {}),
})

const entryOf = (
  name: string,
  prices: Prices,
  limits: PiModel | undefined,
  context: number | undefined,
): Entry | undefined => {
  const rates = ratesOf(prices)
  const embeddings = EMBEDDING.test(name)
  const window = limits?.contextWindow ?? context ?? (embeddings ? 8_192 : undefined)
  if (window === undefined || LEFT_OUT.test(name) || !((rates.rates.input ?? 0) > 0)) return undefined
  if (embeddings) return { ...rates, context: window, output: 0, kind: 'embeddings', has: '' }
  if (!((rates.rates.output ?? 0) > 0)) return undefined
  const has = [
    limits?.compat?.supportsToolChoice === false ? '' : 't',
    limits?.input?.includes('image') ? 'v' : '',
    limits?.reasoning ? 'r' : '',
  ].join('')
  return { ...rates, context: window, output: Math.min(limits?.maxTokens ?? USUAL_OUTPUT, window), has }
}

const pick = ({ rates, tiers }: Entry): Pick<Entry, 'rates' | 'tiers'> => ({
  rates,
  ...(tiers === undefined ? {} : { tiers }),
})

/** Anthropic keeps a prompt for an hour at twice the price of its input; not every source lists that. */
const priceHourOfCache = (vendor: string, entry: Entry): void => {
  const { rates } = entry
  if (vendor === 'anthropic' && rates.cache_write !== undefined && rates.input !== undefined)
    rates.cache_write_1h ??= rates.input * 2
}

const prices = await loadPrices()
const limits = await loadLimits()
const models: Record<string, Record<string, Entry & Known>> = {}
for (const vendor of vendors) {
  const source = vendor.catalogue
  if (source === undefined) continue
  const known = limits[source.limits] ?? {}
  const priced = prices[source.prices] ?? []
  const entries: Record<string, Entry> = {}
  const own = new RegExp(source.names ?? '')
  for (const model of priced)
    for (const name of namesOf(model)) {
      const entry = entryOf(name, pricesNow(model.prices), known[name], model.context_window)
      if (entry !== undefined && own.test(name) && (name === model.id || known[name] !== undefined))
        entries[name] = entry
    }
  for (const [name, model] of Object.entries(known)) {
    const entry = entryOf(name, piPrices(model.cost), model, undefined)
    if (entry === undefined || !own.test(name) || entries[name] !== undefined || name.startsWith('~'))
      continue
    // A dated name costs what the undated one costs, whose entry is more complete.
    const undated = entries[name.replace(/-\d{8}$/, '')]
    entries[name] = undated === undefined ? entry : { ...entry, ...pick(undated) }
  }
  for (const entry of Object.values(entries)) priceHourOfCache(vendor.id, entry)
  for (const name of unknownNames(vendor.id, Object.keys(entries)))
    console.warn(`knowledge.json: ${vendor.id} has no model '${name}'`)
  models[vendor.id] = Object.fromEntries(
    Object.entries(withKnowledge(vendor.id, entries)).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}
const priceVersion: string = JSON.parse(
  readFileSync('node_modules/@pydantic/genai-prices/package.json', 'utf8'),
).version
const catalogue = {
  version: `genai-prices-${priceVersion}+pi-catalog-${PI_VERSION}`,
  notice: 'Prices: @pydantic/genai-prices, MIT. Limits and remaining prices: @oh-my-pi/pi-catalog, MIT.',
  date: today,
  models,
}
const lines = Object.entries(models).map(
  ([vendor, entries]) =>
    `"${vendor}":{\n${Object.entries(entries)
      .map(([name, entry]) => `${JSON.stringify(name)}:${JSON.stringify(entry)}`)
      .join(',\n')}}`,
)
const head = JSON.stringify({ ...catalogue, models: {} }).slice(0, -3)
writeFileSync('src/pricing/catalogue.json', `${head}{\n${lines.join(',\n')}\n}}\n`)
for (const [vendor, entries] of Object.entries(models))
  console.log(`${vendor}: ${Object.keys(entries).length} models`)
