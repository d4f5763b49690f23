/** Opens the store named by an address: connects, brings the schema up to date, makes the house accounts. */
import { existsSync } from 'node:fs'
import { messageOf } from '../core/message-of.ts'
import type { Instant } from '../core/time.ts'
import { houseAccounts, type Transfer, transferKinds } from '../ledger/words.ts'
import { alertStore } from './alert-store.ts'
import { checkoutStore } from './checkout-store.ts'
import { creditStore } from './credit-store.ts'
import { type Engine, once, type Row, statement, Violation } from './engine.ts'
import { idempotencyStore } from './idempotency-store.ts'
import { instanceStore } from './instance-store.ts'
import { ledgerStore } from './ledger-store.ts'
import { hasLedger, migrate } from './migrate.ts'
import { paymentStore } from './payment-store.ts'
import { Overdrawn, ReplayConflict, type Store, StoreFault, TooLarge } from './port.ts'
import { openPostgres } from './postgres.ts'
import { rateStore } from './rate-store.ts'
import { receiptStore } from './receipt-store.ts'
import { referralStore } from './referral-store.ts'
import { responseStore } from './response-store.ts'
import { reviewStore } from './review-store.ts'
import { maybeText, nanoOf, onlyRow, textOf } from './row.ts'
import { openSqlite } from './sqlite.ts'
import { subWalletStore } from './sub-wallet-store.ts'
import { tenancyStore } from './tenancy-store.ts'
import { topUpStore } from './top-up-store.ts'
import { trialStore } from './trial-store.ts'
import { walletRulesStore } from './wallet-rules-store.ts'
import { withdrawStore } from './withdraw.ts'

export type StoreAddress = {
  /** `sqlite:<path>`, `sqlite::memory:` or `postgres://…`. */
  readonly url: string
  /** Replaces the database's clock, for simulations; all stores on one database must agree on it. */
  readonly now?: () => Instant
  /** Leaves out what an engine does in its own way, so that simulations also run the statements that engines share. */
  readonly shared?: boolean
}

/** Connects to the engine an address names. Throws for an address of another form. */
export const openEngine = ({ url, now, shared }: StoreAddress): Engine => {
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(url, now)
  const path = /^sqlite:(.+)$/.exec(url)?.[1]
  if (path === undefined) throw new Error('DATABASE_URL must be sqlite:<path> or postgres://…')
  const { inline, ...plain } = openSqlite(path, now)
  return shared === true || inline === undefined ? plain : { ...plain, inline }
}

const makeHouseAccounts = (engine: Engine): Promise<unknown> =>
  engine.batch(
    'control',
    houseAccounts.map((id) =>
      statement(
        `insert into account (id, bounded, org_id, name, created_at) values ($1, 0, 'house', $1, ${engine.words.now})
         on conflict (id) do nothing`,
        id,
      ),
    ),
  )

const transferOf = (row: Row): Transfer => {
  const kind = transferKinds.find((one) => one === row.kind)
  if (kind === undefined) throw new Error(`transfer ${row.ref} is of an unknown kind`)
  const note = maybeText(row, 'note')
  return {
    kind,
    ref: textOf(row, 'ref'),
    debit: textOf(row, 'debit'),
    credit: textOf(row, 'credit'),
    amount: nanoOf(row, 'amount'),
    ...(note === undefined ? {} : { note }),
  }
}

/** With the kinds, by which the ledger is indexed first. */
const transfersOfRef = `select * from transfer
  where kind in (${transferKinds.map((kind) => `'${kind}'`).join(', ')}) and ref = $1 order by at`

const storeOn = (engine: Engine): Store => ({
  ...ledgerStore(engine),
  ...tenancyStore(engine),
  ...instanceStore(engine),
  ...rateStore(engine),
  ...idempotencyStore(engine),
  ...subWalletStore(engine),
  ...walletRulesStore(engine),
  ...alertStore(engine),
  ...topUpStore(engine),
  ...trialStore(engine),
  ...referralStore(engine),
  ...reviewStore(engine),
  ...creditStore(engine),
  ...checkoutStore(engine),
  ...withdrawStore(engine),
  ...receiptStore(engine),
  ...responseStore(engine),
  ...paymentStore(engine),
  engine: engine.name,
  balance: async (account) =>
    nanoOf(
      onlyRow(
        await once(
          engine,
          'control',
          statement(
            'select coalesce(cast(sum(amount) as bigint), 0) as balance from posting where account_id = $1',
            account,
          ),
        ),
      ),
      'balance',
    ),
  transfersOf: async (ref) => (await once(engine, 'control', statement(transfersOfRef, ref))).map(transferOf),
  ping: async () => {
    await once(engine, 'control', statement('select 1 as one'))
  },
  close: () => engine.close(),
})

/** Whether the address names a database that a server has made its ledger. Rejects when it cannot be asked. */
export const ledgerExists = async (address: StoreAddress): Promise<boolean> => {
  const path = /^sqlite:(.+)$/.exec(address.url)?.[1]
  // To open a file would make it.
  if (path !== undefined && !existsSync(path)) return false
  const engine = openEngine(address)
  try {
    return await hasLedger(engine)
  } finally {
    await engine.close()
  }
}

/** Opens the store, ready for use. Rejects when the database cannot be reached or does not fit this program. */
export const openStore = async (address: StoreAddress): Promise<Store> => {
  const engine = openEngine(address)
  try {
    await migrate(engine)
    await makeHouseAccounts(engine)
  } catch (error) {
    await engine.close()
    throw error
  }
  return withFaults(storeOn(engine))
}

/** Errors of the engine become StoreFault, so that callers need not know engines; the ledger's own stay what they are. */
const withFaults = (store: Store): Store =>
  new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => Promise.resolve(member.apply(target, args)).catch(fault)
    },
  })

const fault = (error: unknown): never => {
  const own = [Violation, ReplayConflict, Overdrawn, TooLarge]
  if (own.some((kind) => error instanceof kind)) throw error
  throw new StoreFault(messageOf(error), { cause: error })
}
