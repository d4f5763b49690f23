/**
 * A node of a chain: the few questions that show what became of a payment. Source: Ethereum JSON-RPC, ERC-20
 * (Transfer).
 */
import { isObject, type Json } from '../../core/json-body.ts'
import type { Offer } from './offer.ts'
import type { Scheme } from './presented.ts'

/** Hash of `Transfer(address,address,uint256)`. */
export const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** How many blocks to look back: hours on these chains, and little enough for public nodes. */
const BLOCKS_BACK = 5_000
const TIMEOUT_MS = 10_000

/** What to look for: this payer's authorization, for this many units, to the offer's receiver. */
export type Sought = {
  readonly offer: Offer
  readonly scheme: Scheme
  readonly payer: string
  readonly nonce: string
  readonly units: string
}

export type ChainState =
  /** The units reached the receiver, in this transaction. */
  | { readonly state: 'paid'; readonly transaction: string }
  /** The nonce is used up without that: the payer cancelled it, or used it for something else. */
  | { readonly state: 'spent' }
  | { readonly state: 'unused'; readonly blockTime: number }
  | { readonly state: 'unknown' }

type EventLog = {
  readonly address: string
  readonly topics: readonly unknown[]
  readonly data: string
  readonly transaction: string
}

type Filter = { readonly address: string; readonly topics: readonly unknown[] }

/** The chain as it was at one block. */
export type Node = {
  readonly blockTime: number
  ask(method: string, params: readonly unknown[]): Promise<Json>
  /** A contract's answer to a call. */
  call(to: string, data: string): Promise<Json>
  /** Events of the last hours. */
  events(filter: Filter): Promise<readonly EventLog[]>
}

/** A value as the 32 bytes that contracts take, in hex. */
export const word = (hex: string): string => hex.replace(/^0x/i, '').toLowerCase().padStart(64, '0')

const hex = (value: number): string => `0x${value.toString(16)}`

const ask = async (url: string, method: string, params: readonly unknown[]): Promise<Json> => {
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

/** The events in a node's answer; anything else is left out. */
export const logsOf = (value: unknown): readonly EventLog[] =>
  Array.isArray(value)
    ? value.flatMap((log) =>
        isObject(log) &&
        typeof log.address === 'string' &&
        Array.isArray(log.topics) &&
        typeof log.data === 'string' &&
        typeof log.transactionHash === 'string'
          ? [{ address: log.address, topics: log.topics, data: log.data, transaction: log.transactionHash }]
          : [],
      )
    : []

/** The chain at its newest block; throws when the node does not report it. */
export const nodeAt = async (url: string): Promise<Node> => {
  const latest = await ask(url, 'eth_getBlockByNumber', ['latest', false])
  const [block, blockTime] = [numberAt(latest, 'number'), numberAt(latest, 'timestamp')]
  if (Number.isNaN(block) || Number.isNaN(blockTime))
    throw new Error('the node did not give its newest block')
  return {
    blockTime,
    ask: (method, params) => ask(url, method, params),
    call: (to, data) => ask(url, 'eth_call', [{ to, data }, hex(block)]),
    events: async (filter) =>
      logsOf(
        await ask(url, 'eth_getLogs', [
          { ...filter, fromBlock: hex(Math.max(0, block - BLOCKS_BACK)), toBlock: hex(block) },
        ]),
      ),
  }
}

/** Whether the event is the payment itself. */
export const isTransferTo = (log: EventLog, { offer, payer, units }: Sought): boolean =>
  log.address.toLowerCase() === offer.asset.toLowerCase() &&
  log.topics[0] === TRANSFER &&
  log.topics[1] === `0x${word(payer)}` &&
  log.topics[2] === `0x${word(offer.payTo)}` &&
  BigInt(log.data) === BigInt(units)
