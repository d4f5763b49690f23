/**
 * The chain itself, asked through a node when the facilitator cannot say what became of a payment.
 * Source: EIP-3009 (authorizationState, AuthorizationUsed, AuthorizationCanceled).
 */
import { isObject } from '../../core/json-body.ts'
import { type ChainState, isTransferTo, logsOf, type Node, nodeAt, type Sought, word } from './node.ts'
import { lookForPermit } from './permit2.ts'

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
  const logs = logsOf(isObject(receipt) ? receipt.logs : undefined)
  return logs.some((one) => isTransferTo(one, sought)) ? { state: 'paid', transaction } : { state: 'spent' }
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
