/** Payers: the official client of version 2, and one of version 1 that knows only the body of the 402. */
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { toHex } from 'viem'
import type { HDAccount } from 'viem/accounts'

type Send = (request: Request) => Promise<Response>

/** The official client, on its default settings. `sent` keeps the requests that went out. */
export const payerV2 = (payer: HDAccount, send: Send, schemes: 'exact' | 'both' = 'exact') => {
  const sent: Request[] = []
  const client = registerExactEvmScheme(new x402Client(), { signer: payer, networks: ['eip155:84532'] })
  if (schemes === 'both') client.register('eip155:84532', new UptoEvmScheme(payer))
  const spying = (input: string | URL | Request, init?: RequestInit) => {
    const request = input instanceof Request ? new Request(input, init) : new Request(String(input), init)
    sent.push(copyOf(request))
    return send(request)
  }
  const pay = wrapFetchWithPayment(spying as typeof fetch, client)
  return { sent, pay: (request: Request): Promise<Response> => pay(request) }
}

const copyOf = (request: Request): Request => request.clone() as Request

type Accepts = {
  readonly maxAmountRequired: string
  readonly payTo: string
  readonly asset: string
  readonly network: string
  readonly maxTimeoutSeconds: number
  readonly extra: { readonly name: string; readonly version: string }
}

/** Signs what a version 1 body demands, and returns the header that pays it. */
export const payV1 = async (payer: HDAccount, accepts: Accepts): Promise<string> => {
  const now = Math.floor(Date.now() / 1000)
  const authorization = {
    from: payer.address,
    to: accepts.payTo as `0x${string}`,
    value: accepts.maxAmountRequired,
    validAfter: String(now - 600),
    validBefore: String(now + accepts.maxTimeoutSeconds),
    nonce: toHex(crypto.getRandomValues(new Uint8Array(32))),
  }
  const signature = await payer.signTypedData({
    domain: { ...accepts.extra, chainId: 84532, verifyingContract: accepts.asset as `0x${string}` },
    types: {
      TransferWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
    },
  })
  return encoded({
    x402Version: 1,
    scheme: 'exact',
    network: accepts.network,
    payload: { signature, authorization },
  })
}

export const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

export const decoded = (header: string | null): any =>
  JSON.parse(Buffer.from(header ?? '', 'base64').toString('utf8'))
