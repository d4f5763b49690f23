/** Acts on payers by voucher: what their channels hold, were charged and can be claimed. */
import { z } from 'zod'
import { text } from '../../core/body.ts'
import { act } from '../act.ts'
import { count } from '../read.ts'
import { usd } from '../shown-key.ts'

export const payerSums = {
  payer: z.string().describe('The address that deposited'),
  deposited_usd: usd.describe('In its channels, claimed or not, as the chain last said'),
  charged_usd: usd,
  claimed_usd: usd.describe('Of what was charged'),
  claimable_usd: usd.describe('Charged and not claimed yet'),
  left_usd: usd.describe('Deposited and not charged'),
}

export const payerList = act({
  name: 'payer.list',
  summary: 'Payers by x402 vouchers, those with the most charged first, or the one with this address.',
  may: ['system'],
  changes: false,
  input: {
    payer: text(42, 42, 'must be an address: 0x and 40 hexadecimal digits').optional(),
    limit: count(1, 1_000),
  },
  shows: z.object({ data: z.array(z.object({ ...payerSums, channels: z.int() })) }).meta({ id: 'PayerList' }),
  does: async ({ control }, { payer, limit = 100 }) => {
    const found = await control.store.channels.payers({ payer: payer?.toLowerCase(), most: limit })
    return {
      data: found.map(({ deposited, charged, claimed, claimable, left, ...one }) => ({
        ...one,
        deposited_usd: deposited,
        charged_usd: charged,
        claimed_usd: claimed,
        claimable_usd: claimable,
        left_usd: left,
      })),
    }
  },
})
