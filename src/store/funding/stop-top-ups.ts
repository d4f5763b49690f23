/** Stops automatic top-ups: when the wallet's rule or its suspension changes, and when its payer gets money back. */
import type { WalletRules } from '../../tenancy/wallet-rules.ts'
import { knownRulesOf } from '../accounts/wallet-rules-row.ts'
import type { Run, SqlDialect } from '../engine/engine.ts'
import { statesBefore } from './top-up-states.ts'

/** After a stopped payment that Stripe may have taken, the next one waits this long: the event comes within seconds. */
export const STOPPED_MS = 3_600_000

/**
 * Stops payments that were not requested from Stripe yet; with `all` also those that were requested without an answer.
 */
export const stopIn = (run: Run, { now }: SqlDialect, wallet: string, all: boolean): Promise<unknown> =>
  run(
    `update top_up set state = 'stopped', next_at = ${now} + ${STOPPED_MS}
     where wallet_id = $1 and state in (${statesBefore('stop')}) and (tries = 0 or $2 = 1)`,
    [wallet, all ? 1 : 0],
  )

/**
 * Follows a change of the wallet's rules: a `renewed` rule ends a pause; a removed one stops what is not paid yet, and so does
 * the account's suspension, during which its card is not charged.
 */
export const setTopUpRule = async (
  run: Run,
  dialect: SqlDialect,
  wallet: string,
  { autoTopUp, suspended, renewed }: Pick<WalletRules, 'autoTopUp' | 'suspended'> & { renewed: boolean },
): Promise<void> => {
  const below = suspended === undefined ? autoTopUp?.below : undefined
  const pause = renewed ? 'null' : 'auto_top_up.paused'
  await run(
    `insert into auto_top_up (wallet_id, below) values ($1, $2)
     on conflict (wallet_id) do update set below = excluded.below, waits_until = 0, paused = ${pause}`,
    [wallet, below ?? null],
  )
  await stopIn(run, dialect, wallet, below === undefined)
}

/**
 * Pauses the rule in the transaction that gives money back to the payer: it must not be charged again at once, nor when
 * a suspension ends, during which the rule is kept but not in `below`.
 */
export const pauseTopUps = async (run: Run, dialect: SqlDialect, wallet: string): Promise<void> => {
  const [rules] = await run('select * from wallet_rules where wallet_id = $1', [wallet])
  if (rules !== undefined && knownRulesOf(rules).rules.autoTopUp !== undefined)
    await run(
      `update auto_top_up set paused = 'payment_taken_back'
       where wallet_id = $1 and method is not null and paused is null`,
      [wallet],
    )
  await stopIn(run, dialect, wallet, false)
}
