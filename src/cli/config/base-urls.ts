/** Addresses of vendors from the environment, under the names that people already use. */
import { bad, type Environment } from '../../settings/bad-setting.ts'
import { settings } from '../../settings/index.ts'
import { rowsOf } from '../../settings/setting.ts'
import { vendors } from '../../vendors/index.ts'
import type { Vendor } from '../../vendors/vendor.ts'

/** What clients and other gateways call the vendor, beside its id and the name of its key. */
const usual: Readonly<Record<string, readonly string[]>> = {
  google: ['GOOGLE_GEMINI_BASE_URL', 'GOOGLE_GENAI_BASE_URL'],
  vertex: ['GOOGLE_VERTEX_BASE_URL'],
  azure: ['AZURE_OPENAI_BASE_URL', 'AZURE_OPENAI_ENDPOINT'],
  openai: ['OPENAI_API_BASE', 'OPENAI_API_BASE_URL'],
}

const asVariable = (id: string): string => id.toUpperCase().replace(/[^A-Z0-9]/g, '_')

/** All variables that may hold a vendor's address; the first is Turnpike's own. */
const variablesOf = ({ id, keyVariable }: Pick<Vendor, 'id' | 'keyVariable'>): readonly string[] => {
  const prefix = keyVariable.replace(/_(API_KEY|API_TOKEN|API_SECRET|SECRET_KEY|KEY)$/, '')
  const own = [asVariable(id), ...(prefix === keyVariable ? [] : [prefix])]
  return [...new Set([...own.map((name) => `${name}_BASE_URL`), ...(usual[id] ?? [])])]
}

/** Anthropic's and Google's own clients take an address without the API's version and add it. */
const withVersion = (vendor: Vendor, address: string): string =>
  (vendor.speaks === 'messages' || vendor.speaks === 'gemini') &&
  vendor.baseUrl !== '' &&
  new URL(address).pathname === '/'
    ? `${address}${new URL(vendor.baseUrl).pathname}`
    : address

/** Where to reach a vendor: as the environment says, else the file, else its own address. Throws BadSetting. */
export const addressOf = (vendor: Vendor, listed: string | undefined, environment: Environment): string => {
  const [first, ...others] = variablesOf(vendor).flatMap((name) => {
    const text = environment[name]
    return text === undefined || text === '' ? [] : [{ name, address: checkedUrl(name, text) }]
  })
  if (first === undefined)
    return listed === undefined ? vendor.baseUrl : checkedUrl(`vendors.${vendor.id}.base_url`, listed)
  for (const { name, address } of others)
    if (address !== first.address) bad(`${first.name} and ${name} name different addresses: keep one of them`)
  return withVersion(vendor, first.address)
}

/** Reads an address in the settings, and removes slashes at its end. Throws BadSetting. */
export const checkedUrl = (name: string, text: string): string => {
  if (!URL.canParse(text)) return bad(`${name} must be an address such as https://host/v1, not '${text}'`)
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return bad(`${name} must begin with https:// or http://`)
  if (url.username !== '' || url.password !== '' || url.search !== '')
    return bad(`${name} must not hold credentials or a query`)
  return text.replace(/\/+$/, '')
}

/** Variables that look like a vendor's address but belong to none: misspelt, or of an unknown vendor. */
export const strayAddresses = (own: readonly string[], environment: Environment): readonly string[] => {
  const known = new Set([
    ...vendors.flatMap(variablesOf),
    ...rowsOf(settings).map(({ name }) => name),
    ...own.flatMap((id) => variablesOf({ id, keyVariable: `${asVariable(id)}_API_KEY` })),
  ])
  return Object.entries(environment)
    .filter(
      ([name, text]) => /^[A-Z0-9_]+_(BASE_URL|API_BASE)$/.test(name) && text !== '' && !known.has(name),
    )
    .map(([name]) => name)
    .sort()
}
