/**
 * The alert that a wallet's own rules ask for, written with them: a rule and a channel with the wallet's id. They change
 * with the wallet's rules alone.
 */
import type { WalletRules } from '../../tenancy/wallet-rules.ts'
import type { Run, SqlDialect } from '../engine/engine.ts'
import { settledBalance } from '../ledger/sums.ts'
import { PAUSED } from './alert-port.ts'

/** The balance and the top-ups of a wallet's own rule `r` are as its open alerts say: else each would be read one by one. */
export const isUnchanged = (() => {
  const open = (step: string) =>
    `exists (select 1 from alert a where a.rule_id = r.id and a.resolved_at is null and a.step ${step})`
  const paused = 'exists (select 1 from auto_top_up t where t.wallet_id = r.id and t.paused is not null)'
  return `(r.subject = r.id and coalesce(${settledBalance('r.id')} < r.amount, 1 = 0) = ${open('> 0')}
    and ${paused} = ${open(`= ${PAUSED}`)})`
})()

/** Writes it anew, so that it tells again what it told before. */
export const setWalletAlert = async (
  run: Run,
  { now }: SqlDialect,
  wallet: string,
  { alertBelow, alertWebhookUrl: url }: Pick<WalletRules, 'alertBelow' | 'alertWebhookUrl'>,
): Promise<void> => {
  await run('delete from alert where rule_id = $1', [wallet])
  await run('delete from alert_rule where id = $1', [wallet])
  await run('delete from alert_channel where id = $1', [wallet])
  if (url !== undefined)
    await run(
      `insert into alert_channel (id, org_id, name, kind, target, created_at)
       select a.id, a.org_id, 'Warn below', 'webhook', $2, ${now} from account a where a.id = $1`,
      [wallet, url],
    )
  if (url !== undefined || alertBelow !== undefined)
    await run(
      `insert into alert_rule (id, org_id, name, kind, subject, amount, steps, channels, created_at)
       select a.id, a.org_id, 'Warn below', 'balance', a.id, cast($2 as bigint), '[100]', $3, ${now} from account a where a.id = $1`,
      [wallet, alertBelow ?? null, JSON.stringify(url === undefined ? [] : [wallet])],
    )
}
