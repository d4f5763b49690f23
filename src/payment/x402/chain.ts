/**
 * The chain itself, asked through a node when the facilitator cannot say what became of a payment.
 * Source: EIP-3009 (authorizationState, AuthorizationUsed, AuthorizationCanceled).
 */
import { isObject, type Json } from '../../core/json-body.ts'
import {
  type ChainState,
  isTransferTo,
  logsOf,
  type Node,
  nodeAt,
  type Sought,
  TRANSFER,
  word,
} from './node.ts'
import { same } from './presented.ts'

/** The contract's address, the same on every chain. */
const PERMIT2 = '0x000000000022d473030f116ddee9f6b43ac78ba3'
/** First bytes of the hash of `nonceBitmap(address,uint256)`. */
const NONCE_BITMAP = '0x4fe02b44'
/** Hash of `UnorderedNonceInvalidation(address,uint256,uint256)`. */
const NONCE_INVALIDATION = '0x3704902f963766a4e561bbaab6e6cdc1b1dd12f6e9e99648da8843b3f46b918d'

const wordOf = (value: bigint): string => word(value.toString(16))

/** A nonce is one bit in a 256-bit word. */
const placeOf = (nonce: string): { readonly place: bigint; readonly bit: bigint } => {
  const value = BigInt(nonce)
  return { place: value >> 8n, bit: 1n << (value & 0xffn) }
}

/** The contract that payers of `upto` permit to move their money, the same on every chain: each call settles one nonce. */
const UPTO_PROXY = '0x4020a4f3b7b90cca423b9fabcc0ce57c6c240002'
/** By the first bytes of the hashes of `settle` and `settleWithPermit`, how many words stand before the nonce. */
const WORDS_BEFORE: Readonly<Record<string, number>> = { '0xff11e7b4': 2, '0x016c1748': 7 }

/** The nonce that a transaction settles. Its payer chooses other numbers in it, so none of these may count as one. */
const settledBy = (sent: Json): string | undefined => {
  if (!isObject(sent) || typeof sent.to !== 'string' || typeof sent.input !== 'string') return undefined
  const before = WORDS_BEFORE[sent.input.slice(0, 10).toLowerCase()]
  if (before === undefined || !same(sent.to, UPTO_PROXY)) return undefined
  return sent.input
    .slice(10)
    .slice(before * 64, (before + 1) * 64)
    .toLowerCase()
}

/** The transfer that the nonce made; other transfers of the same amount are other payments. */
const transferOf = async (node: Node, sought: Sought): Promise<string | undefined> => {
  const { offer, payer, nonce } = sought
  const logs = await node.events({
    address: offer.asset,
    topics: [TRANSFER, `0x${word(payer)}`, `0x${word(offer.payTo)}`],
  })
  for (const { transaction } of logs.filter((log) => isTransferTo(log, sought)).reverse()) {
    const sent = await node.ask('eth_getTransactionByHash', [transaction])
    if (settledBy(sent) === wordOf(BigInt(nonce))) return transaction
  }
  return undefined
}

/** Whether the payer took the nonce back. */
const isTakenBack = async (node: Node, { payer, nonce }: Sought): Promise<boolean> => {
  const { place, bit } = placeOf(nonce)
  const logs = await node.events({ address: PERMIT2, topics: [NONCE_INVALIDATION, `0x${word(payer)}`] })
  return logs.some(
    ({ data }) => data.slice(2, 66) === wordOf(place) && (BigInt(`0x${data.slice(66, 130)}`) & bit) !== 0n,
  )
}

/** Looks a payment up by its nonce. */
const lookForPermit = async (node: Node, sought: Sought): Promise<ChainState> => {
  const { place, bit } = placeOf(sought.nonce)
  const bitmap = await node.call(PERMIT2, `${NONCE_BITMAP}${word(sought.payer)}${wordOf(place)}`)
  if (typeof bitmap !== 'string' || !/^0x[0-9a-f]{64}$/.test(bitmap)) return { state: 'unknown' }
  if ((BigInt(bitmap) & bit) === 0n) return { state: 'unused', blockTime: node.blockTime }
  const transaction = await transferOf(node, sought)
  if (transaction !== undefined) return { state: 'paid', transaction }
  return (await isTakenBack(node, sought)) ? { state: 'spent' } : { state: 'unknown' }
}

export type Chain = { look(sought: Sought): Promise<ChainState> }

/** First bytes of the hash of `authorizationState(address,bytes32)`. */
const AUTHORIZATION_STATE = '0xe94a0102'
/** Hash of `AuthorizationUsed(address,bytes32)`. */
const AUTHORIZATION_USED = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
/** Hash of `AuthorizationCanceled(address,bytes32)`. */
const AUTHORIZATION_CANCELED = '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81'

const lookForAuthorization = async (node: Node, sought: Sought): Promise<ChainState> => {
  const { offer, payer, nonce } = sought
  const used = await node.call(offer.asset, `${AUTHORIZATION_STATE}${word(payer)}${word(nonce)}`)
  if (used === `0x${word('0')}`) return { state: 'unused', blockTime: node.blockTime }
  if (used !== `0x${word('1')}`) return { state: 'unknown' }
  const [log] = await node.events({
    address: offer.asset,
    topics: [[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], `0x${word(payer)}`, `0x${word(nonce)}`],
  })
  // It was used so long ago that its event is out of reach.
  if (log === undefined) return { state: 'unknown' }
  const { transaction } = log
  const receipt = await node.ask('eth_getTransactionReceipt', [transaction])
  const all = logsOf(isObject(receipt) ? receipt.logs : undefined)
  const logs = all.filter(({ address }) => same(address, offer.asset))
  // A transaction may use many nonces, and move money beside them. What a nonce moved is the token's next transfer.
  const use = [AUTHORIZATION_USED, `0x${word(payer)}`, `0x${word(nonce)}`]
  const own = logs.findIndex(({ topics }) => use.every((topic, at) => topics[at] === topic))
  const moved = own < 0 ? undefined : logs.slice(own).find(({ topics: [event] }) => event === TRANSFER)
  const paid = moved !== undefined && isTransferTo(moved, sought)
  return paid ? { state: 'paid', transaction } : { state: 'spent' }
}

/** Looks at the chain through the offer's node, if the operator named one. */
export const chain: Chain = {
  look: async (sought) => {
    const { rpcUrl } = sought.offer
    if (rpcUrl === undefined) return { state: 'unknown' }
    const look = sought.scheme === 'upto' ? lookForPermit : lookForAuthorization
    return nodeAt(rpcUrl)
      .then((node) => look(node, sought))
      .catch(() => ({ state: 'unknown' as const }))
  },
}
