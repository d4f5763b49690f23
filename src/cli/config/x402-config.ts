/** Reads the `x402` section of turnpike.yaml into what this server takes by x402. */
import { z } from 'zod'
import { nanoFromDecimal } from '../../core/money.ts'
import { knownTokens, type Offer, type X402Options } from '../../payment/x402/offer.ts'
import { BadSetting } from '../../settings/bad-setting.ts'

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be an address: 0x and 40 hexadecimal digits')
const url = z.url({ protocol: /^https?$/ }).transform((text) => text.replace(/\/+$/, ''))

const token = z.strictObject({
  token: z.string().optional(),
  network: z
    .string()
    .regex(/^eip155:\d{1,12}$/, 'must be a chain such as eip155:8453')
    .optional(),
  v1_network: z.string().min(1).optional(),
  asset: address.optional(),
  name: z.string().min(1).optional(),
  version: z.string().min(1).optional(),
  decimals: z.int().min(0).max(9).optional(),
  pay_to: address.optional(),
  rpc_url: url.optional(),
})

/** The shape of the section. */
export const x402Shape = z.strictObject({
  facilitator: url,
  facilitator_token: z.string().min(1).optional(),
  pay_to: address,
  accept: z.array(z.union([z.string(), token])).min(1),
  timeout_seconds: z.int().min(15).max(3600).optional(),
  settle_seconds: z.int().min(1).max(300).optional(),
  schemes: z.array(z.enum(['exact', 'upto', 'batch-settlement'])).optional(),
  upto_max_usd: z.string().optional(),
  withdraw_seconds: z.int().min(900).max(2_592_000).optional(),
  claim_usd: z.string().optional(),
  claim_seconds: z.int().min(1).optional(),
  output_tokens: z.int().min(1).optional(),
  public_url: url.optional(),
})

type Section = z.infer<typeof x402Shape>

/** Reads the section. Throws BadSetting. */
export const x402OptionsOf = (section: Section): X402Options => ({
  facilitatorUrl: section.facilitator,
  ...(section.facilitator_token === undefined ? {} : { facilitatorToken: section.facilitator_token }),
  offers: section.accept.map((entry, index) =>
    offerOf(typeof entry === 'string' ? { token: entry } : entry, section.pay_to, `x402.accept.${index}`),
  ),
  timeoutSeconds: section.timeout_seconds ?? 60,
  settleMs: (section.settle_seconds ?? 30) * 1000,
  outputTokens: section.output_tokens ?? 1024,
  ...uptoOf(section),
  ...channelsOf(section),
  ...(section.public_url === undefined ? {} : { publicUrl: section.public_url }),
})

/** `exact` is always taken, because every payer can do it. */
const uptoOf = ({ schemes = ['exact'], upto_max_usd = '1' }: Section): Pick<X402Options, 'upto'> => {
  const most = nanoFromDecimal(upto_max_usd)
  if (most === undefined || most === 0n)
    throw new BadSetting(`x402.upto_max_usd must be a decimal amount above 0, not '${upto_max_usd}'`)
  if (!schemes.includes('exact'))
    throw new BadSetting('x402.schemes must name exact, and may name upto and batch-settlement beside it')
  return schemes.includes('upto') ? { upto: { most } } : {}
}

const DAY = 86_400

/** A payer who leaves must not be faster than the claims. */
const channelsOf = (section: Section): Pick<X402Options, 'channels'> => {
  const { schemes = [], withdraw_seconds = DAY, claim_usd = '10', claim_seconds } = section
  if (!schemes.includes('batch-settlement')) return {}
  const claimSum = nanoFromDecimal(claim_usd)
  if (claimSum === undefined || claimSum === 0n)
    throw new BadSetting(`x402.claim_usd must be a decimal amount above 0, not '${claim_usd}'`)
  const latest = Math.floor(withdraw_seconds / 4)
  const claimSeconds = claim_seconds ?? Math.min(3600, latest)
  if (claimSeconds > latest)
    throw new BadSetting(`x402.claim_seconds must be at most a quarter of withdraw_seconds, ${latest}`)
  return { channels: { withdrawSeconds: withdraw_seconds, claimSum, claimSeconds } }
}

const offerOf = (entry: z.infer<typeof token>, payTo: string, where: string): Offer => {
  const rest = {
    payTo: entry.pay_to ?? payTo,
    ...(entry.rpc_url === undefined ? {} : { rpcUrl: entry.rpc_url }),
  }
  if (entry.token !== undefined) {
    const known = knownTokens[entry.token]
    if (known === undefined)
      throw new BadSetting(
        `${where}: '${entry.token}' is not a known token (${Object.keys(knownTokens).join(', ')}); name its network, asset, name, version and decimals`,
      )
    return { ...known, ...rest }
  }
  const { network, asset, name, version, decimals, v1_network } = entry
  if (network === undefined || asset === undefined || name === undefined)
    throw new BadSetting(`${where} needs network, asset, name, version and decimals, or a known token`)
  if (version === undefined || decimals === undefined)
    throw new BadSetting(
      `${where} needs version and decimals: payers sign for the version, and amounts are counted by the decimals`,
    )
  return {
    network,
    asset,
    name,
    version,
    nanoPerUnit: 10n ** BigInt(9 - decimals),
    ...(v1_network === undefined ? {} : { v1Network: v1_network }),
    ...rest,
  }
}
