/** /api/referrals: an account's own code, and its one claim of somebody else's code, which credits both sides. */
import { creditsOf } from '../../gateway/parts/credits.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { HelperRefusal } from '../answer/helper-refusal.ts'
import { json } from '../answer/reply.ts'
import { accountOf } from '../request/caller.ts'
import type { BodyHandler } from '../request/with-body.ts'
import type { Handler } from '../route/route.ts'
import { invalidCode, type ReferralCode } from '../schema/account-bodies.ts'

/** Letters that people do not confuse. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const LENGTH = 10
const CODE = new RegExp(`^[${LETTERS}]{${LENGTH}}$`)

export const getReferral: Handler = async (gateway, call) => {
  const key = await accountOf(gateway, call)
  const { referrerAmount, claimantAmount } = gateway.options.referral
  const credits = creditsOf(gateway)
  const { claims, earned } = await gateway.store.community.referralsOf(key.walletId)
  return json({
    code: await gateway.store.community.referralCode(key.walletId, codeOf(gateway, key.walletId)),
    claims,
    earned_credits: credits(earned),
    credits_for_you: credits(referrerAmount),
    credits_for_them: credits(claimantAmount),
  })
}

export const claimReferral: BodyHandler<ReferralCode> = async (gateway, call, body) => {
  const key = await accountOf(gateway, call)
  const code = (await body()).code.trim().toUpperCase()
  const { referrerAmount, claimantAmount } = gateway.options.referral
  const outcome = CODE.test(code)
    ? await gateway.store.community.claimReferral({
        code,
        orgId: key.orgId,
        walletId: key.walletId,
        referrerAmount,
        claimantAmount,
      })
    : 'invalid_code'
  if (outcome === 'invalid_code') throw invalidCode()
  if (outcome === 'own_code')
    throw new HelperRefusal('self_referral_forbidden', 'This is the code of your own account.')
  if (outcome === 'claimed_before')
    throw new HelperRefusal(
      'already_claimed',
      'The account has claimed a code before; it may claim only one.',
    )
  return json({ code, claimed: true, credits: creditsOf(gateway)(claimantAmount) })
}

/**
 * Derived from the account, so that simultaneous requests propose the same code; it has 50 bits, so that nobody can
 * guess one.
 */
const codeOf = (gateway: Gateway, walletId: string): string =>
  [...Buffer.from(gateway.hash(`referral code of ${walletId}`), 'hex').subarray(0, LENGTH)]
    .map((byte) => LETTERS[byte % LETTERS.length])
    .join('')
