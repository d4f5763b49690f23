/**
 * The chain itself, asked through a node when the facilitator cannot say what became of a payment.
 * Source: EIP-3009 (authorizationState, AuthorizationUsed, AuthorizationCanceled), ERC-20 (Transfer), Ethereum JSON-RPC.
 */
import { isObject, type Json } from '../../core/json-body.ts'
import type { Offer } from './offer.ts'

/** What is looked for: this payer's authorization, over this many units, to the offer's receiver. */
type Sought = {
  readonly offer: Offer
  readonly payer: string
  readonly nonce: string
  readonly units: string
}

export type ChainState =
  /** The units came to the receiver, in this transaction. */
  | { readonly state: 'paid'; readonly transaction: string }
  /** The nonce is used up without that: the payer cancelled, or used it otherwise. */
  | { readonly state: 'spent' }
  | { readonly state: 'unused'; readonly blockTime: number }
  | { readonly state: 'unknown' }

export type Chain = { look(sought: Sought): Promise<ChainState> }

/** First bytes of the hash of `authorizationState(address,bytes32)`. */
const AUTHORIZATION_STATE = '0xe94a0102'
/** Hash of `AuthorizationUsed(address,bytes32)`. */
const AUTHORIZATION_USED = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
/** Hash of `AuthorizationCanceled(address,bytes32)`. */
const AUTHORIZATION_CANCELED = '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81'
/** Hash of `Transfer(address,address,uint256)`. */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** Blocks to look back through: hours on the chains in question, and little enough for public nodes. */
const BLOCKS_BACK = 5_000
const TIMEOUT_MS = 10_000

const word = (hex: string): string => hex.replace(/^0x/i, '').toLowerCase().padStart(64, '0')
const hex = (value: number): string => `0x${value.toString(16)}`

const ask = async (url: string, method: string, params: readonly unknown[]): Promise<Json | undefined> => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const answer: unknown = await response.json()
  if (!isObject(answer) || answer.result === undefined) throw new Error(`the node did not answer ${method}`)
  return answer.result
}

const numberAt = (value: unknown, name: string): number => {
  const member = isObject(value) ? value[name] : undefined
  return typeof member === 'string' ? Number.parseInt(member, 16) : Number.NaN
}

const logsOf = (value: unknown): readonly { address: string; topics: readonly unknown[]; data: string }[] =>
  Array.isArray(value)
    ? value.flatMap((log) =>
        isObject(log) &&
        typeof log.address === 'string' &&
        Array.isArray(log.topics) &&
        typeof log.data === 'string'
          ? [{ address: log.address, topics: log.topics, data: log.data }]
          : [],
      )
    : []

const isTransferTo = (log: ReturnType<typeof logsOf>[number], { offer, payer, units }: Sought): boolean =>
  log.address.toLowerCase() === offer.asset.toLowerCase() &&
  log.topics[0] === TRANSFER &&
  log.topics[1] === `0x${word(payer)}` &&
  log.topics[2] === `0x${word(offer.payTo)}` &&
  BigInt(log.data) === BigInt(units)

const look = async (url: string, sought: Sought): Promise<ChainState> => {
  const { offer, payer, nonce } = sought
  const latest = await ask(url, 'eth_getBlockByNumber', ['latest', false])
  const [block, blockTime] = [numberAt(latest, 'number'), numberAt(latest, 'timestamp')]
  if (Number.isNaN(block) || Number.isNaN(blockTime)) return { state: 'unknown' }
  const call = { to: offer.asset, data: `${AUTHORIZATION_STATE}${word(payer)}${word(nonce)}` }
  const used = await ask(url, 'eth_call', [call, hex(block)])
  if (used === `0x${word('0')}`) return { state: 'unused', blockTime }
  if (used !== `0x${word('1')}`) return { state: 'unknown' }
  const found = await ask(url, 'eth_getLogs', [
    {
      address: offer.asset,
      topics: [[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], `0x${word(payer)}`, `0x${word(nonce)}`],
      fromBlock: hex(Math.max(0, block - BLOCKS_BACK)),
      toBlock: hex(block),
    },
  ])
  const log = Array.isArray(found) && isObject(found[0]) ? found[0] : undefined
  // Used up so long ago that its event is out of reach.
  if (log === undefined) return { state: 'unknown' }
  const transaction = typeof log.transactionHash === 'string' ? log.transactionHash : ''
  const receipt = await ask(url, 'eth_getTransactionReceipt', [transaction])
  const logs = logsOf(isObject(receipt) ? receipt.logs : undefined)
  return logs.some((one) => isTransferTo(one, sought)) ? { state: 'paid', transaction } : { state: 'spent' }
}

/** Looks through the node of the offer, if the operator named one. */
export const chain: Chain = {
  look: async (sought) => {
    const { rpcUrl } = sought.offer
    if (rpcUrl === undefined) return { state: 'unknown' }
    return look(rpcUrl, sought).catch(() => ({ state: 'unknown' as const }))
  },
}
