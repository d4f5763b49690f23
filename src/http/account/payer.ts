/** GET /v1/payers/me: what a payer by x402 vouchers deposited, was charged and has left, for whoever signs with its key. */
import { z } from 'zod'
import { written } from '../../control/face.ts'
import { payerSums } from '../../control/money/payers.ts'
import { time, usd } from '../../control/shown-key.ts'
import { greatest, type Nano } from '../../core/money.ts'
import { refuse } from '../../core/refusal.ts'
import { takeGuestTurn } from '../../gateway/paid/guest-turn.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { signedInAs } from '../../payment/x402/sign-in.ts'
import type { Channel } from '../../store/payments/channel-port.ts'
import { json } from '../answer/reply.ts'
import { originOfCall } from '../request/origin.ts'
import type { HttpCall, Route } from '../route/route.ts'

const PATH = '/v1/payers/me'
const CALLS_MOST = 100

const { payer: address, ...sums } = payerSums

const shape = z
  .object({
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
  .meta({ id: 'PayerAccount' })

const isoOf = (ms: number): string => new Date(ms).toISOString()

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

/** The payer who signed this request. */
const payerOf = async (gateway: Gateway, call: HttpCall): Promise<string> => {
  const { x402 } = gateway.payments
  // A request's own Host would let another site use what was signed for it.
  const origin = x402?.options.publicUrl ?? gateway.publicUrl
  if (x402?.options.channels === undefined || origin === undefined)
    throw refuse('not_found', 'There are no accounts of payers here.')
  takeGuestTurn(gateway, 'payer', originOfCall(gateway, call), call.trace)
  const terms = {
    origin,
    pathname: PATH,
    networks: x402.options.offers.map(({ network }) => network),
    now: gateway.clock.now(),
  }
  const payer = await signedInAs(call.request.headers.get('sign-in-with-x') ?? '', terms)
  if (payer !== undefined) return payer
  throw refuse(
    'invalid_api_key',
    `SIGN-IN-WITH-X must be a message of the last five minutes for ${origin}${PATH}, signed with the payer's key.`,
  )
}

const getAccount = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const payer = await payerOf(gateway, call)
  const { channels } = gateway.store
  const [own, calls] = await Promise.all([
    channels.channelsOf(payer),
    channels.paidByVoucher(payer, CALLS_MOST),
  ])
  const account: z.output<typeof shape> = {
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
  const answer = json(written(account, 'text'))
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'no-store' } }
}

export const payerRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: PATH,
    summary:
      'What a payer by x402 vouchers deposited, was charged and has left; the header is signed with the payer’s key (EIP-4361).',
    auth: 'none',
    answer: shape,
    money: 'text',
    headers: ['SIGN-IN-WITH-X'],
    handler: getAccount,
  },
]
