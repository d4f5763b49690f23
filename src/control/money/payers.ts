/** Acts on payers by voucher: what their channels hold, were charged and can be claimed. */
import { z } from 'zod'
import { namedObject, text } from '../../core/body.ts'
import { greatest, type Nano } from '../../core/money.ts'
import type { Channel, ChannelStore } from '../../store/payments/channel-port.ts'
import { act } from '../act.ts'
import { count, isoOf } from '../read.ts'
import { time, usd } from '../shown-key.ts'
import { checkWholeHouse } from '../who.ts'

const address = z.string().describe('The address that deposited')
const sums = {
  deposited_usd: usd.describe('In its channels, claimed or not, as the chain last said'),
  charged_usd: usd,
  claimed_usd: usd.describe('Of what was charged'),
  claimable_usd: usd.describe('Charged and not claimed yet'),
  left_usd: usd.describe('Deposited and not charged'),
}

const CALLS_MOST = 100

export const payerAccount = namedObject('PayerAccount', {
  payer: address,
  ...sums,
  channels: z.array(
    z.object({
      channel: z.string(),
      token: z.string(),
      ...sums,
      lost_usd: usd.describe('Charged, and not there when it was claimed'),
      leaves_at: time.nullable().describe('When the payer announced that it takes the rest back'),
      created_at: time,
    }),
  ),
  calls: z
    .array(z.object({ request_id: z.string(), channel: z.string(), charged_usd: usd, at: time }))
    .describe(`The newest ${CALLS_MOST}, as the channel was charged: rounded up to a unit of the token`),
})

const sumsOf = ({ balance, charged, claimed, lost }: Channel) => ({
  deposited_usd: balance,
  charged_usd: charged,
  claimed_usd: claimed,
  claimable_usd: charged - claimed - lost,
  left_usd: greatest(balance - charged, 0n),
})

type Sums = ReturnType<typeof sumsOf>

const added = (all: readonly Sums[]): Sums => {
  const sum = (name: keyof Sums): Nano => all.reduce((total, one) => total + one[name], 0n)
  return {
    deposited_usd: sum('deposited_usd'),
    charged_usd: sum('charged_usd'),
    claimed_usd: sum('claimed_usd'),
    claimable_usd: sum('claimable_usd'),
    left_usd: sum('left_usd'),
  }
}

/** What a payer's channels hold and were charged for which calls; all zero for an address that never deposited. */
export const accountOf = async (
  store: ChannelStore,
  payer: string,
): Promise<z.output<typeof payerAccount>> => {
  const [own, calls] = await Promise.all([store.channelsOf(payer), store.paidByVoucher(payer, CALLS_MOST)])
  return {
    payer,
    ...added(own.map(sumsOf)),
    channels: own.map((one) => ({
      channel: one.id,
      token: one.asset,
      ...sumsOf(one),
      lost_usd: one.lost,
      leaves_at: one.leavingAt === undefined ? null : isoOf(one.leavingAt * 1000),
      created_at: isoOf(one.createdAt),
    })),
    calls: calls.map(({ callId, channelId, amount, at }) => ({
      request_id: callId,
      channel: channelId,
      charged_usd: amount,
      at: isoOf(at),
    })),
  }
}

const addressText = () => text(42, 42, 'must be an address: 0x and 40 hexadecimal digits')

export const payerGet = act({
  name: 'payer.get',
  summary: 'A payer by x402 vouchers: its channels, and its newest calls, each of which has a receipt.',
  reads: ['system'],
  input: { payer: addressText() },
  shows: payerAccount,
  does: async ({ control, who }, { payer }) => {
    checkWholeHouse(who)
    return accountOf(control.store.channels, payer.toLowerCase())
  },
})

export const payerList = act({
  name: 'payer.list',
  summary: 'Payers by x402 vouchers, those with the most charged first, or the one with this address.',
  reads: ['system'],
  input: {
    payer: addressText().optional(),
    limit: count(1, 1_000),
  },
  shows: namedObject('PayerList', {
    data: z.array(z.object({ payer: address, ...sums, channels: z.int() })),
  }),
  does: async ({ control, who }, { payer, limit = 100 }) => {
    checkWholeHouse(who)
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
