/** Referrals: a code for each account that asks, and one claim per account, which credits both sides. */

import { type Engine, once, statement } from '../engine/engine.ts'
import { countOf, nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { postIn } from '../ledger/post.ts'
import type { ReferralStore } from './community-port.ts'

const claimOn: (engine: Engine) => ReferralStore['claimReferral'] =
  (engine) =>
  ({ code, orgId, walletId, referrerAmount, claimantAmount }) =>
    engine.transaction('control', async (run) => {
      const { dialect } = engine
      const [referrer] = await run(
        'select a.id, a.org_id from referral_code c join account a on a.id = c.wallet_id where c.code = $1',
        [code],
      )
      if (referrer === undefined) return 'invalid_code'
      if (textOf(referrer, 'org_id') === orgId) return 'own_code'
      const referrerId = textOf(referrer, 'id')
      const inserted = await run(
        `insert into referral_claim (org_id, wallet_id, referrer_id, referrer_amount, claimant_amount, claimed_at)
         values ($1, $2, $3, $4, $5, ${dialect.now}) on conflict (org_id) do nothing returning org_id`,
        [orgId, walletId, referrerId, referrerAmount, claimantAmount],
      )
      if (inserted.length === 0) return 'claimed_before'
      const sides = [
        { ref: `referral:${orgId}`, credit: walletId, amount: claimantAmount },
        { ref: `referrer:${orgId}`, credit: referrerId, amount: referrerAmount },
      ].sort((a, b) => (a.credit < b.credit ? -1 : 1))
      // In the order of the wallets, because two accounts may claim each other's codes at the same time.
      for (const side of sides)
        if (side.amount > 0n) await postIn(run, dialect, { kind: 'grant', debit: 'promo', ...side })
      return 'credited'
    })

export const referralStore = (engine: Engine): ReferralStore => ({
  referralCode: async (walletId, proposed) => {
    const [, rows = []] = await engine.batch('control', [
      statement(
        // Two simultaneous requests collide in either column, because they propose the same code.
        'insert into referral_code (code, wallet_id) values ($1, $2) on conflict do nothing',
        proposed,
        walletId,
      ),
      statement('select code from referral_code where wallet_id = $1', walletId),
    ])
    return textOf(onlyRow(rows), 'code')
  },
  referralsOf: async (walletId) => {
    const row = onlyRow(
      await once(
        engine,
        'control',
        `select cast(count(*) as bigint) as claims, coalesce(cast(sum(referrer_amount) as bigint), 0) as earned
           from referral_claim where referrer_id = $1`,
        walletId,
      ),
    )
    return { claims: countOf(row, 'claims'), earned: nanoOf(row, 'earned') }
  },
  claimReferral: claimOn(engine),
})
