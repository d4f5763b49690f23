/** The store's port for what a reseller bills its tenants: who bills whom, and numbered invoices with their credit notes. */
import type { Instant, Month } from '../../core/time.ts'
import type { BillSums, Tax } from '../../tenancy/bill-sums.ts'
import type { KeyId } from '../../tenancy/key.ts'
import type { Actor } from '../people/event-port.ts'

/** Either side of an invoice. An address has several lines. */
type Party = {
  readonly name: string
  readonly address: string
  readonly tax_id?: string | undefined
  readonly email?: string | undefined
}

/** What DATEV files are about: the consultant and client at DATEV, and the accounts that are posted to. */
export type Datev = {
  readonly consultant: number
  readonly client: number
  readonly revenue_account: number
  readonly debtor_account: number
}

export type Biller = Party & {
  readonly currency: string
  /** What one USD costs in the currency, as a decimal. */
  readonly usd_rate: string
  /** Days from an invoice until it is due. */
  readonly terms_days: number
  readonly taxes: readonly Tax[]
  /** Numbers begin with it. */
  readonly prefix: string
  readonly datev?: Datev | undefined
  /** The hash of its logo. */
  readonly logo?: string | undefined
}

/** A tenant as it is billed. */
export type TenantBilling = Party & { readonly debtor_account?: number | undefined }

type BillLine = {
  readonly model: string
  readonly requests: number
  readonly input_tokens: number
  readonly output_tokens: number
  /** In the currency, with all its decimals. */
  readonly amount: string
}

/** What an invoice says, as it was closed. */
export type BillDocument = Omit<BillSums, 'payable' | 'lines'> & {
  readonly seller: Biller
  readonly buyer: TenantBilling
  readonly label: string
  readonly reference: string | null
  readonly lines: readonly BillLine[]
  /** Of a credit note: the number of its invoice, the day of that, and why. */
  readonly credits?: { readonly number: string; readonly issued_at: string; readonly reason: string }
}

export type Bill = {
  readonly id: string
  readonly orgId: string
  readonly tenantId: KeyId
  readonly serial: number
  readonly number: string
  readonly kind: 'invoice' | 'credit_note'
  readonly month: Month
  readonly document: BillDocument
  readonly issuedAt: Instant
  readonly dueAt: Instant
  readonly credits?: string
  readonly creditedBy?: string
  readonly paidAt?: Instant
  readonly paidRef?: string
  readonly mailedAt?: Instant
}

type BillStatus = 'open' | 'paid' | 'credited'

/** Newest first. */
export type BillQuery = {
  readonly orgId: string
  readonly tenantId?: KeyId | undefined
  readonly month?: Month | undefined
  /** Of invoices alone; credit notes have none. */
  readonly status?: BillStatus | undefined
  readonly beforeSerial?: number | undefined
  readonly most: number
}

type Of = { readonly orgId: string; readonly id: string }

export type BillStore = {
  biller(orgId: string): Promise<Biller | undefined>
  /** `logo` is an image in base64, kept under the profile's hash. False if it was so before. */
  putBiller(orgId: string, biller: Biller, logo: string | undefined, by: Actor): Promise<boolean>
  logo(orgId: string, hash: string): Promise<string | undefined>
  /** Of all tenants that have any. */
  tenantBillings(orgId: string): Promise<ReadonlyMap<KeyId, TenantBilling>>
  putTenantBilling(orgId: string, tenantId: KeyId, details: TenantBilling, by: Actor): Promise<boolean>
  /**
   * Gives the month's invoice its number and stores it, once, whoever asks at the same time: else the one that there is
   * comes back, with `made` false. Numbers have no gaps, because one is given in the transaction that stores the invoice.
   */
  close(
    bill: Pick<Bill, 'orgId' | 'tenantId' | 'month' | 'document'>,
    by: Actor,
  ): Promise<{ bill: Bill; made: boolean }>
  /** Takes an invoice back by a credit note, once; undefined if there is no such invoice. */
  credit(of: Of & { readonly reason: string }, by: Actor): Promise<{ bill: Bill; made: boolean } | undefined>
  bill(of: Of): Promise<Bill | undefined>
  bills(query: BillQuery): Promise<readonly Bill[]>
  /** Notes or withdraws a payment of an invoice. False if it was so before. */
  notePaid(of: Of & { readonly paidAt?: Instant; readonly ref?: string }, by: Actor): Promise<boolean>
  noteMailed(of: Of & { readonly to: string }, by: Actor): Promise<void>
}
