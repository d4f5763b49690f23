/** What the log of receipts says of a wallet's day, with the proof: whoever keeps receipts can add them up. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { DAY_MS } from '../../core/time.ts'
import { inclusionOf } from '../../gateway/log-proof.ts'
import { creditAccountOf } from '../../ledger/types.ts'
import { dayName } from '../../receipts/log-leaf.ts'
import { act } from '../act.ts'
import { payer, walletIn } from '../org-of.ts'

export const logDay = act({
  name: 'log.day',
  summary:
    'The entries of a wallet and its credit in the log of receipts for a day that is over, with their proofs.',
  reads: ['read'],
  input: { ...payer, day: z.iso.date('must be a day such as 2026-11-21') },
  shows: namedObject('LogDay', {
    data: z.array(
      z.object({
        text: z.string().describe('The entry after its salt and a line feed'),
        salt: z.string(),
        index: z.int(),
        size: z.int(),
        proof: z.array(z.string()),
      }),
    ),
  }),
  does: async (acting, { day, ...named }) => {
    const { log } = acting.control.store
    const wallet = await walletIn(acting, named)
    const postedAt = Date.parse(day) + DAY_MS
    const found = await Promise.all(
      [wallet, creditAccountOf(wallet)].map(async (account) => {
        const included = await inclusionOf(log, { name: dayName(day, account), postedAt })
        const text = included && (await log.dayText(account, day))
        return text === undefined || included === undefined ? [] : [{ text, ...included }]
      }),
    )
    return { data: found.flat() }
  },
})
