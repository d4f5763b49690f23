/**
 * The contract of channels and a facilitator before it, in virtual time: deposits, vouchers really signed, claims of many
 * channels at once, sweeps, and payers who leave. Requests and answers are lost, late or unsure.
 */
import type { Facilitator, FacilitatorSettled } from '../../src/payment/x402/facilitator.ts'
import { openSigner } from '../../src/payment/x402/signer.ts'
import { openVoucherCheck } from '../../src/payment/x402/voucher.ts'
import type { Rail } from '../../src/payment/x402.ts'
import { AUTHORIZER, CHAIN_ID, digestOf, type Wallet } from '../payments/voucher-wallet.ts'
import { EPOCH, type World } from './world.ts'

// Loaded before any history: modules do not load in virtual time.
const check = await openVoucherCheck()
const { signerOf } = await openSigner()

export const WITHDRAW_SECONDS = 100
/** Nano-USD in a unit of these channels' token: no price of the shop is a whole number of units. */
export const CHANNEL_UNIT = 3_000n
const KINDS = new Map([
  [`2 exact eip155:${CHAIN_ID}`, undefined],
  [`2 batch-settlement eip155:${CHAIN_ID}`, AUTHORIZER],
])
const ANSWER_WAIT_MS = 400
const NO_ANSWER = { outcome: 'unknown', reason: 'no_answer' } as const

type OnChain = {
  balance: bigint
  claimed: bigint
  /** In seconds since 1970, while the payer leaves. */
  leavingAt: number | undefined
  announced: boolean
}

export const createChannelChain = (world: World, hit: (what: string) => void) => {
  const { random, pick } = world.draws('channels')
  const channels = new Map<string, OnChain>()
  const deposits = new Set<string>()
  const sums = { claimed: 0n, swept: 0n, transactions: 0 }
  let calm = false
  const chance = (odds: number) => !calm && random() < odds
  const seconds = () => Math.floor((EPOCH + world.now()) / 1000)
  const at = (id: string): OnChain => {
    const known = channels.get(id) ?? { balance: 0n, claimed: 0n, leavingAt: undefined, announced: false }
    channels.set(id, known)
    return known
  }

  /** One transaction of claims: all of them, or none where one is not good. */
  const claim = (claims: readonly any[]): boolean => {
    const idOf = new Map(claims.map((one) => [one, channelOf(one.voucher.channel)]))
    const good = claims.every((one) => {
      const [id, total, most] = [
        idOf.get(one) ?? '',
        BigInt(one.totalClaimed),
        BigInt(one.voucher.maxClaimableAmount),
      ]
      const { claimed, balance } = at(id)
      if (total <= claimed) return true
      if (total > most || total > balance) return false
      return signerOf(digestOf(id, most), one.signature) === one.voucher.channel.payerAuthorizer
    })
    if (!good) return false
    sums.transactions++
    for (const one of claims) {
      const it = at(idOf.get(one) ?? '')
      const total = BigInt(one.totalClaimed)
      if (total <= it.claimed) continue
      sums.claimed += total - it.claimed
      it.claimed = total
    }
    return true
  }
  const ids = new Map<string, string>()
  const channelOf = ({ salt }: { salt: string }): string => ids.get(salt) ?? ''

  /** What a transaction does when its block comes; a code if it does nothing. */
  const land = ({ payload }: any): string | undefined => {
    if (payload.type === 'claim') return claim(payload.claims) ? undefined : 'claim_failed'
    if (payload.type === 'settle') {
      sums.swept = sums.claimed
      return undefined
    }
    if (deposits.has(payload.deposit.nonce)) return 'nonce_already_used'
    if (payload.deposit.poor) return 'insufficient_funds'
    deposits.add(payload.deposit.nonce)
    at(payload.voucher.channelId).balance += BigInt(payload.deposit.amount)
    return undefined
  }

  const railOf = (alive: () => boolean): Rail => {
    const answer = <T>(value: T, ms: number): Promise<T> =>
      new Promise((resolve) => world.after(ms, () => alive() && resolve(value)))
    const settle = (payload: any): Promise<FacilitatorSettled> => {
      if (chance(0.06)) return answer(NO_ANSWER, ANSWER_WAIT_MS)
      return new Promise((resolve) =>
        world.after(pick(3, 120), () => {
          const reason = land(payload)
          hit(`vouchers: ${payload.payload.type} ${reason ?? 'landed'}`)
          const outcome = reason
            ? ({ outcome: 'refused', reason } as const)
            : ({ outcome: 'settled', transaction: `tx ${sums.transactions}` } as const)
          const lost = chance(0.15)
          if (lost) hit('vouchers: the facilitator’s answer is lost')
          void answer(lost ? NO_ANSWER : outcome, lost ? ANSWER_WAIT_MS : pick(1, 20)).then(resolve)
        }),
      )
    }
    const facilitator: Facilitator = {
      supported: () => answer(chance(0.2) ? undefined : KINDS, pick(1, 30)),
      verify: ({ payload }: any) => {
        if (chance(0.05)) return answer({ outcome: 'unknown' }, ANSWER_WAIT_MS)
        const { nonce, poor } = payload.payload.deposit
        const reason = deposits.has(nonce) ? 'nonce_already_used' : poor ? 'insufficient_funds' : undefined
        return answer(reason ? { outcome: 'invalid', reason } : { outcome: 'valid' }, pick(1, 30))
      },
      settle: ({ payload }: any) => settle(payload),
    }
    const late = async <T>(value: () => T): Promise<T> => {
      await answer(undefined, pick(1, 30))
      if (chance(0.05)) throw new Error('the node does not answer')
      return value()
    }
    return {
      facilitator,
      chain: { look: () => answer({ state: 'unknown' }, 1) },
      channelNode: {
        look: (_offer, id) =>
          late(() => {
            const { balance, claimed, leavingAt } = at(id)
            return { balance: balance * CHANNEL_UNIT, claimed: claimed * CHANNEL_UNIT, leavingAt }
          }),
        leaving: () => late(() => [...channels].flatMap(([id, { announced }]) => (announced ? [id] : []))),
      },
      openCheck: () => Promise.resolve(check),
    }
  }

  return {
    railOf,
    at,
    sums,
    calm: () => {
      calm = true
    },
    know: ({ channelId, config }: Wallet) => void ids.set(config.salt, channelId),
    /** The payer announces that it takes along what is left, and does so as soon as it may. */
    leave: ({ channelId }: Wallet) => {
      const it = at(channelId)
      it.leavingAt = seconds()
      it.announced = true
      world.after(WITHDRAW_SECONDS * 1_000, () => {
        it.balance = it.claimed
        it.leavingAt = undefined
      })
    },
  }
}
