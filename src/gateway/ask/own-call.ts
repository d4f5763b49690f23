/** A call by an organisation's own key: what it runs under, what it is charged, and what its vendor bills the organisation. */
import type { Call } from '../../core/call.ts'
import type { Model, Price } from '../../core/model.ts'
import type { Nano } from '../../core/money.ts'
import type { Usage } from '../../core/usage.ts'
import { chargeFor, priceOf, withCall } from '../../pricing/charge.ts'
import { feePrice, ownPriced } from '../../pricing/own-price.ts'
import type { Key } from '../../tenancy/key.ts'
import type { OwnKeys } from '../../tenancy/own-keys.ts'
import type { Gateway } from '../parts/gateway.ts'
import { OWN_KEY } from '../parts/trace.ts'
import { ownModel } from './own-places.ts'

type Asked = { readonly key: Pick<Key, 'orgId'>; readonly model: Model; readonly call: Call }

/** The call as it runs by the keys that its organisation has; as it would without them, if it has none there. */
export const withOwnKeys = async <Opening extends Asked>(
  gateway: Gateway,
  opening: Opening,
  own: OwnKeys | undefined,
): Promise<Opening> => {
  const { model, call } = opening
  if (own?.[model.vendor] === undefined) return opening
  const twin = await ownModel(gateway, { orgId: opening.key.orgId, own }, model)
  const { media } = call
  if (twin.own === undefined || media?.priced === undefined) return { ...opening, model: twin }
  const priced = ownPriced(media.priced, twin.own)
  return { ...opening, model: twin, call: { ...call, media: { ...media, priced } } }
}

/** Whose key was asked, and what the vendor bills the organisation for a usage, as the list price has it. */
type ByOwnKey = {
  readonly vendorKey: 'own' | 'house'
  readonly list: Price | undefined
}

/** How a call under a twin is charged, now that it is known whose key answered. */
export const priceByKey = (
  {
    model,
    call,
    trace,
  }: { readonly model: Model; readonly call: Call; readonly trace: { readonly vendorKey?: string } },
  tier?: string,
): (ByOwnKey & { readonly price: Price }) | undefined => {
  if (model.own === undefined) return undefined
  const { priced } = call.media ?? {}
  const list = priced?.list ?? priced?.price ?? priceOf(model.own.list, tier)
  return trace.vendorKey === OWN_KEY
    ? { vendorKey: 'own', list, price: feePrice(list, model.own.fee) }
    : { vendorKey: 'house', list: undefined, price: list }
}

/** What a record says of whose key was asked. */
export const vendorKeyOf = ({ vendorKey, list }: ByOwnKey, usage: Usage): OwnKeyNote =>
  list === undefined ? { vendorKey } : { vendorKey, vendorEstimate: chargeFor(list, withCall(list, usage)) }

export type OwnKeyNote = { readonly vendorKey: 'own' | 'house'; readonly vendorEstimate?: Nano }
