/** Alerts that owners of wallets asked for: wallets that run low, and top-ups that wait for their owner. */
import { isDue } from '../engine/due.ts'
import { type Engine, type Row, statement } from '../engine/engine.ts'
import { nanoOf, textOf } from '../engine/row.ts'
import { isHere, settledBalance } from '../ledger/sums.ts'
import type { AlertStore, WalletAlert } from './wallet-rules-port.ts'
import { rulesOf } from './wallet-rules-row.ts'

const TRIES = 8
const AGAIN_MS = 30_000
const AGAIN_LONGEST_MS = AGAIN_MS * TRIES * TRIES
const BALANCE = settledBalance('wallet_rules.wallet_id')

const dueOf = (row: Row): readonly WalletAlert[] => {
  const url = rulesOf(textOf(row, 'rules')).alertWebhookUrl
  if (url === undefined) return []
  const common = {
    id: textOf(row, 'alert_id'),
    walletId: textOf(row, 'wallet_id'),
    url,
    balance: nanoOf(row, 'balance'),
  }
  return row.paused === undefined
    ? [{ ...common, event: 'wallet.below', below: nanoOf(row, 'alert_below') }]
    : [{ ...common, event: 'wallet.top_up_paused', reason: textOf(row, 'paused') }]
}

const takeOn = async (engine: Engine, most: number): Promise<readonly WalletAlert[]> => {
  const { now } = engine.dialect
  const due = isDue(now, 'alert_next_at', AGAIN_LONGEST_MS)
  const giveUp = (table: string) =>
    statement(
      `update ${table} set alert_state = 'done' where alert_state = 'due' and alert_tries >= ${TRIES} and ${due}`,
    )
  // Asked twice, because another process may take the same ones meanwhile.
  const first = (table: string, more: string) =>
    `${more} and alert_state = 'due' and ${due} and ${table}.wallet_id in (select f.wallet_id from ${table} f
       where f.${more} and f.alert_state = 'due' and ${isDue(now, 'f.alert_next_at', AGAIN_LONGEST_MS)}
       order by f.alert_next_at limit $1)`
  const next = `alert_tries = alert_tries + 1, alert_next_at = ${now} + ${AGAIN_MS} * (alert_tries + 1) * (alert_tries + 1)`
  const [, , , , low = [], paused = []] = await engine.batch('control', [
    statement(
      `update wallet_rules set alert_state = 'armed' where alert_below is not null and alert_state <> 'armed'
         and ${BALANCE} >= alert_below`,
    ),
    statement(
      `update wallet_rules set alert_state = 'due', alert_id = wallet_id || ':' || cast(${now} as text),
         alert_tries = 0, alert_next_at = 0
       where alert_below is not null and alert_state = 'armed' and ${BALANCE} < alert_below
         and ${isHere('wallet_rules.wallet_id')}`,
    ),
    giveUp('wallet_rules'),
    giveUp('auto_top_up'),
    statement(
      `update wallet_rules set ${next} where ${first('wallet_rules', 'alert_below is not null')}
       returning wallet_id, alert_id, alert_below, rules, ${BALANCE} as balance`,
      most,
    ),
    statement(
      `update auto_top_up set ${next} where ${first('auto_top_up', 'paused is not null')}
       returning wallet_id, alert_id, paused, ${settledBalance('auto_top_up.wallet_id')} as balance,
         coalesce((select r.rules from wallet_rules r where r.wallet_id = auto_top_up.wallet_id), '{}') as rules`,
      most,
    ),
  ])
  return [...low, ...paused].flatMap(dueOf)
}

export const alertStore = (engine: Engine): AlertStore => ({
  takeAlerts: (most) => takeOn(engine, most),
  alertSent: async ({ id, walletId }) => {
    await engine.batch(
      'control',
      ['wallet_rules', 'auto_top_up'].map((table) =>
        statement(
          `update ${table} set alert_state = 'done' where wallet_id = $1 and alert_id = $2 and alert_state = 'due'`,
          walletId,
          id,
        ),
      ),
    )
  },
})
