/** GET /v1/payers/me: what a payer by x402 vouchers deposited, was charged and has left, for whoever signs with its key. */
import { written } from '../../control/face.ts'
import { accountOf, payerAccount } from '../../control/money/payers.ts'
import { refuse } from '../../core/refusal.ts'
import { takeGuestTurn } from '../../gateway/paid/guest-turn.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { signedInAs } from '../../payment/x402/sign-in.ts'
import { json } from '../answer/reply.ts'
import { originOfCall } from '../request/origin.ts'
import type { HttpCall, Route } from '../route/route.ts'

const PATH = '/v1/payers/me'

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
  const account = await accountOf(gateway.store.channels, await payerOf(gateway, call))
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
    answer: payerAccount,
    money: 'text',
    headers: ['SIGN-IN-WITH-X'],
    handler: getAccount,
  },
]
