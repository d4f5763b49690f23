/**
 * Models on localhost: Ollama, llama-server and LM Studio, found by GET /v1/models on their usual ports. No vendor
 * bills the operator for them, so their default price is zero. They are metered like any other model, and turnpike.yaml
 * can set another price.
 */
import { isObject, parseJson } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import { ownAddress } from '../vendors/own-address.ts'
import type { VendorSetup } from '../vendors/setup.ts'

export type LocalServer = { readonly id: string; readonly baseUrl: string }

const usualPlaces: readonly LocalServer[] = [
  { id: 'ollama', baseUrl: 'http://127.0.0.1:11434/v1' },
  { id: 'llama-server', baseUrl: 'http://127.0.0.1:8080/v1' },
  { id: 'lmstudio', baseUrl: 'http://127.0.0.1:1234/v1' },
]

const LOOK_MS = 300
const BYTES_MAX = 1_000_000
const EMBEDDING = /embed|bge-|minilm/i

type FoundServer = { readonly setup: VendorSetup; readonly models: readonly Model[] }

/** Asks all places at once; a vendor in `known`, which the operator set up under the same name, takes precedence. */
export const discover = async (
  known: ReadonlySet<string>,
  places: readonly LocalServer[] = usualPlaces,
): Promise<readonly FoundServer[]> => {
  const found = await Promise.all(places.filter(({ id }) => !known.has(id)).map(look))
  return found.filter((one) => one !== undefined)
}

const look = async ({ id, baseUrl }: LocalServer): Promise<FoundServer | undefined> => {
  const names = await offeredAt(baseUrl, {}, LOOK_MS)
  if (names.length === 0) return undefined
  return {
    setup: { vendor: ownAddress(id, baseUrl), baseUrl, secrets: [] },
    models: names.map((name) => freeModel(id, name)),
  }
}

/** The names of the models that an address lists; none if nothing listens there, or another kind of server does. */
export const offeredAt = async (
  baseUrl: string,
  headers: Readonly<Record<string, string>>,
  waitMs: number,
): Promise<readonly string[]> => {
  try {
    const response = await fetch(`${baseUrl}/models`, {
      headers,
      signal: AbortSignal.timeout(waitMs),
      redirect: 'error',
    })
    const text = await response.text()
    const body = text.length > BYTES_MAX ? undefined : parseJson(text)
    if (!response.ok || !isObject(body)) return []
    // Generate-content has other names for the list and for a model's name in it.
    const [listed, member] = Array.isArray(body.data) ? [body.data, 'id'] : [body.models, 'name']
    if (!Array.isArray(listed)) return []
    return listed.flatMap((one: unknown) => {
      const name = isObject(one) ? one[member] : undefined
      return typeof name === 'string' && name !== '' ? [name.replace(/^models\//, '')] : []
    })
  } catch {
    return []
  }
}

/** A model of a server that bills nobody: metered like any other, at a price of zero. */
export const freeModel = (vendor: string, name: string): Model => {
  const kind = EMBEDDING.test(name) ? 'embeddings' : 'chat'
  return {
    id: `${vendor}/${name}`,
    vendor,
    upstreamName: name,
    kind,
    price: { rates: { input: 0, output: 0 }, tiers: [], version: 'localhost' },
    contextTokens: 131_072,
    maxOutputTokens: kind === 'chat' ? 32_768 : 0,
    capabilities: kind === 'chat' ? ['streaming', 'function_calling'] : ['embeddings'],
    imageTokensMax: 6_000,
  }
}
