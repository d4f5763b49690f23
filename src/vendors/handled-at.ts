/** How a vendor handles a model's calls where this operator asks it: by its documents, or as the operator states. */
import type { Model } from '../core/model.ts'
import {
  type Condition,
  type HandlingFacts,
  meets,
  type Region,
  type Standing,
} from '../tenancy/conditions.ts'
import { type Said, type VendorHandling, vendorHandling } from './known-handling.ts'
import type { VendorSetup } from './setup.ts'

type At = Pick<VendorSetup, 'vendor' | 'baseUrl' | 'stated'>
type Asked = Pick<Model, 'upstreamName'>

/** Hosts of vendors that have one for each customer or place. */
const ownHosts: Readonly<Record<string, RegExp>> = {
  azure: /\.(?:openai|cognitiveservices|services\.ai)\.azure\.com$/,
  bedrock: /^bedrock-runtime\.[a-z0-9-]+\.amazonaws\.com$/,
  vertex: /^(?:[a-z0-9-]+-)?aiplatform\.googleapis\.com$/,
}

const hostIn = (url: string): string | undefined =>
  URL.canParse(url) && url.startsWith('https://') ? new URL(url).hostname : undefined

/** What its documents say, if it is asked at its own host: whoever stands at another address has not said it. */
const documentsFor = ({ vendor, baseUrl }: At): VendorHandling => {
  const known = vendorHandling[vendor.id]
  if (known === undefined) return {}
  const host = hostIn(baseUrl)
  const isOwn =
    baseUrl === 'local:' ||
    (host !== undefined &&
      (host === hostIn(vendor.baseUrl) ||
        ownHosts[vendor.id]?.test(host) === true ||
        known.hosts?.says[host] !== undefined))
  return isOwn ? known : {}
}

const verified = <T>(said: Said<T> | undefined): T | undefined =>
  said === undefined || said.verified === false ? undefined : said.says

/** Bedrock names an inference profile by where it may go, and a base model by who made it. */
const PROFILE = /^(us|eu)\./
const BASE_MODEL =
  /^(?:ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|stability|twelvelabs|writer|zai)\./

const regionOf = ({ vendor, baseUrl }: At, { upstreamName }: Asked, said: Said<Hosts> | undefined) => {
  const there = verified(said)?.[hostIn(baseUrl) ?? '']
  if (vendor.id !== 'bedrock' || there === undefined) return there
  const [, geography] = PROFILE.exec(upstreamName) ?? []
  return geography === undefined ? (BASE_MODEL.test(upstreamName) ? there : undefined) : (geography as Region)
}

type Hosts = NonNullable<VendorHandling['hosts']>['says']

const standing = (stated: boolean | undefined, said: Said<Standing> | undefined): Standing | undefined =>
  stated === undefined ? verified(said) : stated ? 'yes' : 'no'

/** What is known of how the vendor handles calls of the model there. */
export const handledAt = (at: At, model: Asked): HandlingFacts => {
  const { zdr, noTraining, hosts } = documentsFor(at)
  const { stated = {} } = at
  const facts = {
    zdr: standing(stated.zdr, zdr),
    noTraining: standing(stated.noTraining, noTraining),
    region: stated.region ?? regionOf(at, model, hosts),
  }
  return Object.fromEntries(Object.entries(facts).filter(([, fact]) => fact !== undefined))
}

/** Whether calls of the model may go there under all these conditions. */
export const meetsAll = (at: At, model: Asked, conditions: readonly Condition[]): boolean => {
  const facts = handledAt(at, model)
  return conditions.every((condition) => meets(facts, condition))
}

/** The same as lists of models show it. */
export const handlingShown = (at: At | undefined, model: Asked) => {
  const facts = at === undefined ? {} : handledAt(at, model)
  return {
    zdr: facts.zdr ?? ('unknown' as const),
    no_training: facts.noTraining ?? ('unknown' as const),
    region: facts.region ?? null,
  }
}

/** With what the conditions were met, as a receipt says it: by whom, where, and whether documented or stated. */
export const metThere = (
  at: At,
  model: Asked,
  conditions: readonly Condition[],
): Readonly<Record<string, string>> => {
  const { zdr, noTraining } = documentsFor(at)
  const { region } = handledAt(at, model)
  const stated = at.stated ?? {}
  const basis = (isStated: boolean, said: Said<unknown> | undefined) =>
    isStated ? 'stated' : `documented ${said?.read ?? ''}`
  return {
    asked: conditions.join(','),
    vendor: at.vendor.id,
    ...(region === undefined ? {} : { region }),
    ...(conditions.includes('zdr') ? { zdr: basis(stated.zdr !== undefined, zdr) } : {}),
    ...(conditions.includes('no_training')
      ? { no_training: basis(stated.noTraining !== undefined, noTraining) }
      : {}),
  }
}
