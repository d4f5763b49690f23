/** Opens the store at an address: connects, brings the schema up to date, creates the house accounts. */
import { statSync } from 'node:fs'
import { messageOf } from '../core/message-of.ts'
import { houseAccounts } from '../ledger/types.ts'
import { keyStore } from './accounts/key-store.ts'
import { referralStore } from './accounts/referral-store.ts'
import { reviewStore } from './accounts/review-store.ts'
import { subWalletStore } from './accounts/sub-wallet-store.ts'
import { tagBudgetStore } from './accounts/tag-budget-store.ts'
import { endTrials, trialStore } from './accounts/trial-store.ts'
import { walletRulesStore } from './accounts/wallet-rules-store.ts'
import { walletStore } from './accounts/wallet-store.ts'
import { alertBook, expiredAlerts } from './alerts/alert-store.ts'
import { batchStore, expiredBatches, expiredBatchLines } from './batches/batch-store.ts'
import { assetStore } from './calls/asset-store.ts'
import { backgroundStore } from './calls/background-store.ts'
import { conversationStore } from './calls/conversation-store.ts'
import { failureStore } from './calls/failure-store.ts'
import { expiredAnswers, idempotencyStore } from './calls/idempotency-store.ts'
import { expiredInstances, instanceStore } from './calls/instance-store.ts'
import { itemStore } from './calls/item-store.ts'
import { endSilentShares } from './calls/rate-shares.ts'
import { expiredWindows, rateStore } from './calls/rate-store.ts'
import { receiptStore } from './calls/receipt-store.ts'
import { expiredResponses, responseStore } from './calls/response-store.ts'
import { expiredRuns, runStore } from './calls/run-store.ts'
import { lookByName } from './calls/short-form.ts'
import { clocksOf } from './engine/clock.ts'
import { type Engine, once, statement, Violation } from './engine/engine.ts'
import { deleteExpired } from './engine/expire.ts'
import { hasLedger, Misfit, migrate } from './engine/migrate.ts'
import { openEngine, type StoreAddress } from './engine/open-engine.ts'
import { type Planned, planMigrations } from './engine/plan.ts'
import { type Replica, type ReplicaAddress, replicaOf } from './engine/replica.ts'
import { readSettingIn, settingIn, writeSettingIn } from './engine/setting.ts'
import { isSynchronous } from './engine/synchronous.ts'
import { exportStore } from './exports/export-store.ts'
import { ChangedSince, Elsewhere, Overdrawn, ReplayConflict, StoreFault, TooLarge } from './faults.ts'
import { checkoutStore } from './funding/checkout-store.ts'
import { creditStore } from './funding/credit-store.ts'
import { topUpStore } from './funding/top-up-store.ts'
import { withdrawStore } from './funding/withdraw.ts'
import { expiredBudgets, expiredLeases } from './ledger/cut-back.ts'
import { ledgerStore } from './ledger/ledger-store.ts'
import type { Chores } from './ledger/reap.ts'
import { logStore } from './log/log-store.ts'
import { firstMonths } from './months/keep-months.ts'
import { cellStore } from './move/cell-store.ts'
import { MOVED_TO } from './move/tables.ts'
import { ownKeyStore } from './own-keys/own-key-store.ts'
import { channelStore } from './payments/channel-store.ts'
import { paymentStore } from './payments/payment-store.ts'
import { chainStore } from './people/chain-store.ts'
import { directoryStore } from './people/directory-store.ts'
import { eventStore } from './people/event-store.ts'
import { forgetStore } from './people/forget-store.ts'
import { expiredLogins, loginStore } from './people/login-store.ts'
import { machineStore } from './people/machine-store.ts'
import { memberStore } from './people/member-store.ts'
import { peopleRows } from './people/people-rows.ts'
import { teamStore } from './people/team-store.ts'
import type { Ports, Store } from './port.ts'
import { pruneStore } from './prune/prune-store.ts'
import { reportStore } from './reports/report-store.ts'
import { forgetEarlySums } from './reports/roll-up.ts'
import { billStore } from './tenants/bill-store.ts'
import { tenantStore } from './tenants/tenant-store.ts'

const makeHouseAccounts = (engine: Engine): Promise<unknown> =>
  engine.batch(
    'control',
    houseAccounts.map((id) =>
      statement(
        `insert into account (id, bounded, org_id, name, created_at) values ($1, 0, 'house', $1, ${engine.dialect.now})
         on conflict (id) do nothing`,
        id,
      ),
    ),
  )

/** The other work of every round of recovery. */
const choresOf = (engine: Engine): Chores => {
  const expired = [
    expiredLeases,
    expiredAnswers,
    expiredResponses,
    expiredRuns,
    expiredBatchLines,
    expiredBatches,
    expiredInstances,
    expiredBudgets,
    expiredWindows,
    expiredLogins,
    expiredAlerts,
  ].flatMap((rows) => rows(engine.dialect.now))
  return [
    () => endTrials(engine),
    () => forgetEarlySums(engine),
    () => endSilentShares(engine),
    () => deleteExpired(engine, expired),
  ]
}

const portsOn = (engine: Engine, replica?: Replica): Ports => ({
  ledger: guarded(ledgerStore(engine, choresOf(engine))),
  instances: guarded(instanceStore(engine)),
  rates: guarded(rateStore(engine)),
  failures: guarded(failureStore(engine)),
  idempotency: guarded(idempotencyStore(engine)),
  responses: guarded({ ...responseStore(engine), ...itemStore(engine), ...conversationStore(engine) }),
  background: guarded(backgroundStore(engine)),
  receipts: guarded(receiptStore(engine)),
  log: guarded(logStore(engine)),
  assets: guarded(assetStore(engine)),
  runs: guarded(runStore(engine)),
  batches: guarded(batchStore(engine)),
  keys: guarded(keyStore(engine)),
  wallets: guarded({ ...walletStore(engine), ...walletRulesStore(engine) }),
  subWallets: guarded(subWalletStore(engine)),
  alerts: guarded(alertBook(engine)),
  tagBudgets: guarded(tagBudgetStore(engine)),
  ownKeys: guarded(ownKeyStore(engine)),
  community: guarded({ ...trialStore(engine), ...referralStore(engine), ...reviewStore(engine) }),
  credit: guarded(creditStore(engine)),
  funding: guarded({ ...checkoutStore(engine), ...withdrawStore(engine), ...topUpStore(engine) }),
  payments: guarded(paymentStore(engine)),
  channels: guarded(channelStore(engine)),
  people: guarded(peopleRows(engine)),
  members: guarded(memberStore(engine)),
  events: guarded(eventStore(engine)),
  chain: guarded(chainStore(engine)),
  machines: guarded(machineStore(engine)),
  logins: guarded(loginStore(engine)),
  teams: guarded(teamStore(engine)),
  directory: guarded(directoryStore(engine)),
  forget: guarded(forgetStore(engine)),
  reports: guarded(reportStore(engine, replica)),
  tenants: guarded(tenantStore(engine)),
  bills: guarded(billStore(engine)),
  exports: guarded(exportStore(engine)),
  prune: guarded(pruneStore(engine)),
  cells: guarded(cellStore(engine)),
})

const storeOn = (engine: Engine, replica?: Replica): Store => ({
  ...portsOn(engine, replica),
  engine: engine.name,
  ...guarded({
    setting: (name: string, make: () => string) => settingIn(engine, name, make),
    readSetting: (name: string) => readSettingIn(engine, name),
    writeSetting: (name: string, value: string) => writeSettingIn(engine, name, value),
    clock: () => clocksOf(engine),
    synchronous: () => isSynchronous(engine),
    ping: async () => {
      await once(engine, 'control', 'select 1 as one')
    },
    close: () => (replica?.engine ?? engine).close(),
  }),
})

/** Whether the address names a database that a server has made its ledger. Rejects when it cannot be asked. */
export const ledgerExists = (address: StoreAddress): Promise<boolean> => looking(address, hasLedger, false)

/** What opening the store would do to the schema of an existing ledger; undefined if there is none. */
export const planOf = (address: StoreAddress): Promise<readonly Planned[] | undefined> =>
  looking<readonly Planned[] | undefined>(
    address,
    async (engine) => ((await hasLedger(engine)) ? planMigrations(engine) : undefined),
    undefined,
  )

/** Looks at a database without creating anything; `none` if there is no file. */
const looking = async <T>(
  address: StoreAddress,
  look: (engine: Engine) => Promise<T>,
  none: T,
): Promise<T> => {
  const path = /^sqlite:(.+)$/.exec(address.url)?.[1]
  // Opening a file would create it, and write into an empty one.
  if (path !== undefined && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return none
  const engine = openEngine(address)
  try {
    return await look(engine)
  } finally {
    await engine.close()
  }
}

/** What was moved elsewhere is no ledger any more: two of the same keys and money would part ways. */
const mustBeHere = async (engine: Engine): Promise<void> => {
  const to = engine.name === 'sqlite' ? await readSettingIn(engine, MOVED_TO) : undefined
  if (to !== undefined)
    throw new Misfit(`this ledger was moved to ${to}: set DATABASE_URL to its address there`)
}

/** Opens the store, ready for use. Rejects when the database cannot be reached or does not fit this program. */
export const openStore = async (address: StoreAddress, replica?: ReplicaAddress): Promise<Store> =>
  storeOver(openEngine(address), replica)

/** The same with an open engine, which is closed if the store cannot be used. */
export const storeOver = async (engine: Engine, replica?: ReplicaAddress): Promise<Store> => {
  try {
    await migrate(engine)
    await mustBeHere(engine)
    await makeHouseAccounts(engine)
    await firstMonths(engine)
    await lookByName(engine)
  } catch (error) {
    await engine.close()
    throw error
  }
  return storeOn(engine, replica && replicaOf(engine, replica))
}

type Method = (...args: never[]) => Promise<unknown>

/**
 * Errors of the engine become StoreFault, so that callers need not know engines; the ledger's own errors stay as they
 * are.
 */
const guarded = <Port extends { readonly [Name in keyof Port]: Method }>(port: Port): Port => {
  const methods = Object.entries<Method>(port).map(([name, method]) => [
    name,
    (...args: never[]) => Promise.resolve(method(...args)).catch(fault),
  ])
  return Object.assign({ ...port }, Object.fromEntries(methods))
}

const fault = (error: unknown): never => {
  const own = [Violation, ReplayConflict, Overdrawn, TooLarge, ChangedSince, Elsewhere]
  if (own.some((kind) => error instanceof kind)) throw error
  throw new StoreFault(messageOf(error), { cause: error })
}
