/** A payer by the HTTP scheme `Payment`: the official client, on its default settings. */
import { Mppx } from 'mppx/client'
import { charge } from 'mppx/evm/client'
import { charge as chargeStripe } from 'mppx/stripe/client'
import type { HDAccount } from 'viem/accounts'
import { testOffer } from './rig.ts'

type Send = (request: Request) => Promise<Response>

/** Its client for the token of the test chain. */
export const evmOf = (account: HDAccount) =>
  charge({ account, authorization: { name: testOffer.name, version: testOffer.version }, networks: [84532] })

type Asked = { readonly amount: string; readonly currency: string; readonly networkId: string }

/** Its client for cards: `createToken` is where a wallet would ask Stripe for a shared payment token. */
export const stripeOf = (createToken: (asked: Asked) => string) =>
  chargeStripe({
    paymentMethod: 'pm_card_visa',
    createToken: async (asked: Asked) => createToken(asked),
  } as never)

/** A payer by `evm`. */
export const mppPayer = (account: HDAccount, send: Send) => payerBy(evmOf(account), send)

/** `sent` keeps the requests that went out. */
export const payerBy = (method: object, send: Send) => {
  const sent: Request[] = []
  const spying = (input: string | URL | Request, init?: RequestInit) => {
    const request = input instanceof Request ? new Request(input, init) : new Request(String(input), init)
    sent.push(request.clone() as Request)
    return send(request)
  }
  const client = Mppx.create({
    methods: [method],
    fetch: spying as typeof fetch,
    polyfill: false,
  } as never) as unknown as { fetch: typeof fetch }
  return {
    sent,
    pay: async (request: Request): Promise<Response> =>
      client.fetch(request.url, {
        method: request.method,
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      }),
  }
}

/** A request that the client has signed, held back. */
export const signedByMpp = (account: HDAccount, send: Send, request: Request): Promise<Request> =>
  signedBy(evmOf(account), send, request)

export const signedBy = async (method: object, send: Send, request: Request): Promise<Request> => {
  let signed: Request | undefined
  const { pay } = payerBy(method, async (one) => {
    if (!one.headers.has('authorization')) return send(one)
    signed = one
    return new Response('{}')
  })
  await pay(request)
  if (signed === undefined) throw new Error('the client signed nothing')
  return signed
}

type Decoded = {
  challenge: Record<string, string>
  payload: Record<string, string>
  source?: string
}

/** What a request's credential says. */
export const credentialIn = (request: Request): Decoded =>
  JSON.parse(
    Buffer.from(request.headers.get('authorization')?.slice('Payment '.length) ?? '', 'base64url').toString(),
  )

/** The same request with another credential. */
export const withCredential = (request: Request, credential: object): Request => {
  const changed = request.clone() as Request
  changed.headers.set(
    'authorization',
    `Payment ${Buffer.from(JSON.stringify(credential)).toString('base64url')}`,
  )
  return changed
}

/** What an answer's receipt says. */
export const receiptIn = (response: Response): Record<string, string> | undefined => {
  const header = response.headers.get('payment-receipt')
  return header === null ? undefined : JSON.parse(Buffer.from(header, 'base64url').toString())
}

const AUTHORIZATION = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
]

/** The payload with members of one's choice, signed as its payer would sign it. */
export const signedPayload = async (
  account: HDAccount,
  payload: Record<string, string>,
  chainId = 84532,
): Promise<Record<string, string>> => {
  const message = { ...payload, from: account.address }
  const signature = await account.signTypedData({
    domain: {
      name: testOffer.name,
      version: testOffer.version,
      chainId,
      verifyingContract: testOffer.asset as `0x${string}`,
    },
    types: { TransferWithAuthorization: AUTHORIZATION },
    primaryType: 'TransferWithAuthorization',
    message: message as never,
  })
  return { ...message, signature }
}
