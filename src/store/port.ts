/**
 * The store's ports: everything that is durable, as its users need it. Code that needs one part takes that part's port,
 * which is beside its store. Two engines (SQLite, PostgreSQL) run the same statements; the rules are written once.
 *
 * Promises that every engine keeps: each method is one serialisable transaction. When it resolves, its effect is on
 * disk (except `beat` and `takeRates`, which may be lost in a crash and err on the safe side). When it rejects, the
 * effect is unknown and the call may be repeated word for word.
 */
import type { Instant } from '../core/time.ts'
import type { ReferralStore, ReviewStore, TrialStore } from './accounts/community-port.ts'
import type { SubWalletStore } from './accounts/sub-wallet-port.ts'
import type { TagBudgetStore } from './accounts/tag-budget-port.ts'
import type { KeyStore, WalletStore } from './accounts/tenancy-port.ts'
import type { WalletRulesStore } from './accounts/wallet-rules-port.ts'
import type { AlertBook } from './alerts/alert-port.ts'
import type { BatchStore } from './batches/batch-port.ts'
import type { AssetStore } from './calls/asset-port.ts'
import type { BackgroundStore } from './calls/background-port.ts'
import type { FailureStore } from './calls/failure-port.ts'
import type { IdempotencyStore } from './calls/idempotency-port.ts'
import type { InstanceStore } from './calls/instance-port.ts'
import type { RateStore } from './calls/rate-port.ts'
import type { ReceiptStore } from './calls/receipt-port.ts'
import type { ConversationStore, ResponseStore } from './calls/response-port.ts'
import type { RunStore } from './calls/run-port.ts'
import type { ExportStore } from './exports/export-port.ts'
import type { CheckoutStore, CreditStore, WithdrawStore } from './funding/funding-port.ts'
import type { TopUpStore } from './funding/top-up-port.ts'
import type { LedgerStore } from './ledger/ledger-port.ts'
import type { LogStore } from './log/log-port.ts'
import type { CellStore } from './move/cell-port.ts'
import type { OwnKeyStore } from './own-keys/own-key-port.ts'
import type { ChannelStore } from './payments/channel-port.ts'
import type { PaymentStore } from './payments/payment-port.ts'
import type { ChainStore } from './people/chain-store.ts'
import type { DirectoryStore } from './people/directory-port.ts'
import type { EventStore } from './people/event-port.ts'
import type { ForgetStore } from './people/forget-port.ts'
import type { LoginStore } from './people/login-port.ts'
import type { MachineStore } from './people/machine-port.ts'
import type { MemberStore, PeopleRows } from './people/people-port.ts'
import type { TeamStore } from './people/team-port.ts'
import type { PruneStore } from './prune/prune-port.ts'
import type { ReportStore } from './reports/report-port.ts'
import type { BillStore } from './tenants/bill-port.ts'
import type { TenantStore } from './tenants/tenant-port.ts'

export type Ports = {
  readonly ledger: LedgerStore
  readonly instances: InstanceStore
  readonly rates: RateStore
  readonly failures: FailureStore
  readonly idempotency: IdempotencyStore
  readonly responses: ResponseStore & ConversationStore
  readonly background: BackgroundStore
  readonly receipts: ReceiptStore
  readonly log: LogStore
  readonly assets: AssetStore
  readonly runs: RunStore
  readonly batches: BatchStore
  readonly keys: KeyStore
  readonly wallets: WalletStore & WalletRulesStore
  readonly subWallets: SubWalletStore
  readonly alerts: AlertBook
  readonly tagBudgets: TagBudgetStore
  readonly ownKeys: OwnKeyStore
  readonly community: TrialStore & ReferralStore & ReviewStore
  readonly credit: CreditStore
  readonly funding: CheckoutStore & WithdrawStore & TopUpStore
  readonly payments: PaymentStore
  readonly channels: ChannelStore
  readonly people: PeopleRows
  readonly members: MemberStore
  readonly events: EventStore
  readonly chain: ChainStore
  readonly machines: MachineStore
  readonly logins: LoginStore
  readonly teams: TeamStore
  readonly directory: DirectoryStore
  readonly forget: ForgetStore
  readonly reports: ReportStore
  readonly tenants: TenantStore
  readonly bills: BillStore
  readonly exports: ExportStore
  readonly prune: PruneStore
  readonly cells: CellStore
}

export type Store = Ports & {
  readonly engine: 'sqlite' | 'postgres'
  /** A value made once per database, such as the secret that hashes keys; the first writer wins and all read the same. */
  setting(name: string, make: () => string): Promise<string>
  /** The same without making it, and set anew. */
  readSetting(name: string): Promise<string | undefined>
  writeSetting(name: string, value: string): Promise<void>
  /** The database's clock, and the latest moment that it is known to have shown before. */
  clock(): Promise<{ readonly now: Instant; readonly before: Instant }>
  /** Whether what is acknowledged is on a second machine by then; see SYNC. */
  synchronous(): Promise<boolean>
  /** A trivial round trip, for /api/status. */
  ping(): Promise<void>
  close(): Promise<void>
}
