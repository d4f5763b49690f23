/** What the ledger notes of a voucher, and of its channel. */
import type { NewVoucher } from '../../store/payments/channel-port.ts'
import { nanoOfUnits } from './offer.ts'
import type { Presented } from './presented.ts'
import type { Voucher } from './voucher.ts'

/** A voucher that was checked, for a call that is about to run; `account` is its channel's, if that is new. */
export const newVoucherOf = (
  it: Pick<NewVoucher, 'callId' | 'fingerprint'> & { readonly presented: Presented },
  { config, channelId, most, signature, deposit }: Voucher,
  { account, seen, transaction }: Pick<NewVoucher, 'seen' | 'transaction'> & { readonly account: string },
): NewVoucher => {
  const { presented, callId, fingerprint } = it
  const { offer, id, payer, units } = presented
  return {
    id,
    callId,
    fingerprint,
    amount: nanoOfUnits(offer, units),
    payer,
    channel: {
      id: `${offer.network}:${channelId}`,
      asset: offer.asset.toLowerCase(),
      account,
      config: JSON.stringify(config),
      unit: offer.nanoPerUnit,
    },
    most: nanoOfUnits(offer, most),
    signature,
    deposit,
    seen,
    transaction,
  }
}
