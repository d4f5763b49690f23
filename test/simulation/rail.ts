/**
 * The outside world of x402 payments: a chain that takes each authorization once, and a facilitator between it and each
 * process whose requests and answers are lost, late or unsure.
 */
import type { Chain } from '../../src/payment/x402/chain.ts'
import type { Facilitator, FacilitatorSettled, Sent } from '../../src/payment/x402/facilitator.ts'
import { EPOCH, type World } from './world.ts'

/** One authorization on the chain. `poor` payers cannot pay it; `cancelled` ones took it back. */
export type Authorization = {
  /** What was signed for: all of it is taken, or with `upto` no more than it. */
  readonly units: bigint
  readonly validBefore: number
  readonly poor: boolean
  /** What was taken. */
  taken?: bigint
  state: 'unused' | 'paid' | 'cancelled'
}

export type SimulatedChain = {
  readonly authorizations: Map<string, Authorization>
  /** Units that reached the receiver. */
  readonly received: () => bigint
  /** From now on everything answers, and tells the truth. */
  calm(): void
  /** The rail as one process sees it; a dead process gets no answer. */
  railOf(alive: () => boolean): { readonly facilitator: Facilitator; readonly chain: Chain }
}

const ANSWER_WAIT_MS = 400
const KINDS = new Map([
  ['2 exact eip155:84532', undefined],
  ['2 upto eip155:84532', `0x${'c'.repeat(40)}`],
])
const NO_ANSWER = { outcome: 'unknown', reason: 'no_answer' } as const

/** The request to a facilitator: a nonce, and an amount where the payer left it open. */
const readSent = (sent: Sent): { readonly nonce: string; readonly units: bigint | undefined } => {
  const { payload, requirements } = sent as {
    payload: { payload: { authorization?: { nonce: string }; permit2Authorization?: { nonce: string } } }
    requirements: { amount: string }
  }
  const { authorization, permit2Authorization } = payload.payload
  return permit2Authorization === undefined
    ? { nonce: authorization?.nonce ?? '', units: undefined }
    : { nonce: permit2Authorization.nonce, units: BigInt(requirements.amount) }
}

export const createChain = (world: World, hit: (what: string) => void): SimulatedChain => {
  const { random, pick } = world.draws('chain')
  const authorizations = new Map<string, Authorization>()
  let received = 0n
  let calm = false
  const chance = (odds: number) => !calm && random() < odds
  const known = (nonce: string): Authorization => {
    const found = authorizations.get(nonce)
    if (found === undefined) throw new Error(`nobody signed ${nonce}`)
    return found
  }
  const seconds = () => Math.floor((EPOCH + world.now()) / 1000)

  /** The effect of a transaction when its block comes. */
  const land = (nonce: string, units?: bigint): boolean => {
    const it = known(nonce)
    const amount = units ?? it.units
    if (it.state !== 'unused' || it.poor || seconds() >= it.validBefore || amount > it.units) return false
    it.state = 'paid'
    it.taken = amount
    received += amount
    return true
  }

  const settleNow = (nonce: string, units: bigint | undefined): FacilitatorSettled => {
    if (known(nonce).state === 'paid' && random() < 0.5)
      return { outcome: 'settled', transaction: `tx ${nonce}` }
    if (land(nonce, units)) return { outcome: 'settled', transaction: `tx ${nonce}` }
    const reason = known(nonce).poor ? 'insufficient_funds' : 'invalid_exact_evm_nonce_already_used'
    return { outcome: 'refused', reason }
  }

  const railOf = (alive: () => boolean) => {
    const answer = <T>(value: T, ms: number): Promise<T> =>
      new Promise((resolve) => world.after(ms, () => alive() && resolve(value)))
    const settle = (sent: Sent): Promise<FacilitatorSettled> => {
      const { nonce, units } = readSent(sent)
      if (chance(0.06)) return answer(NO_ANSWER, ANSWER_WAIT_MS)
      // On its way: it lands or not while nobody waits for it.
      if (chance(0.1)) {
        world.after(pick(5, random() < 0.5 ? 100 : 2_500), () => chance(0.2) || land(nonce, units))
        return answer({ outcome: 'unknown', reason: 'settlement_pending' }, pick(5, 100))
      }
      return new Promise((resolve) =>
        world.after(pick(3, 120), () => {
          const outcome = settleNow(nonce, units)
          hit(`facilitator: ${outcome.outcome}`)
          const lost = chance(0.12)
          if (lost) hit('facilitator: answer lost')
          void answer(lost ? NO_ANSWER : outcome, lost ? ANSWER_WAIT_MS : pick(1, 20)).then(resolve)
        }),
      )
    }
    const facilitator: Facilitator = {
      supported: () => answer(chance(0.2) ? undefined : KINDS, pick(1, 30)),
      verify: (sent) => {
        if (chance(0.05)) return answer({ outcome: 'unknown' }, ANSWER_WAIT_MS)
        const used = known(readSent(sent).nonce).state !== 'unused'
        return answer(
          used
            ? { outcome: 'invalid', reason: 'invalid_exact_evm_nonce_already_used' }
            : { outcome: 'valid' },
          pick(1, 30),
        )
      },
      settle,
    }
    const chain: Chain = {
      look: ({ nonce, units }) => {
        const { state, taken } = known(nonce)
        if (state === 'paid' && taken !== BigInt(units))
          throw new Error(`looked for ${units}, taken ${taken}`)
        if (chance(0.15)) return answer({ state: 'unknown' }, pick(1, 200))
        if (state === 'paid') return answer({ state, transaction: `tx ${nonce}` }, pick(1, 30))
        if (state === 'cancelled') return answer({ state: 'spent' }, pick(1, 30))
        return answer({ state, blockTime: seconds() }, pick(1, 30))
      },
    }
    return { facilitator, chain }
  }

  return {
    authorizations,
    received: () => received,
    calm: () => {
      calm = true
    },
    railOf,
  }
}
