/**
 * An act of the control plane: what somebody does to keys, wallets, tenants or the house, said once. Each face (HTTP, the
 * console, the command line, machines) reads its input in its own way, performs the act, and writes what it shows.
 */
import { z } from 'zod'
import { elsewhere, notHere } from '../admission/caller.ts'
import type { Book } from '../book/contract.ts'
import { readAs } from '../core/body.ts'
import type { JsonObject } from '../core/json-body.ts'
import type { KeyedHash } from '../core/keyed-hash.ts'
import type { Log } from '../core/log.ts'
import { must, Refusal } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import type { ConsoleSettings, Receipts } from '../gateway/parts/gateway.ts'
import type { StripePayments } from '../payment/stripe.ts'
import type { Catalogue } from '../pricing/catalogue.ts'
import type { CallSettings } from '../settings/calls.ts'
import type { Store } from '../store/port.ts'
import { awayOf } from '../tenancy/key.ts'
import { bound, type Terms } from '../tenancy/terms.ts'
import type { OwnKeyRing } from '../transport/own-key-ring.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import type { Right } from './rights.ts'
import type { Who } from './who.ts'

/** What acts work with. A gateway has all of it; a command makes it from the ledger alone. */
export type Control = {
  readonly store: Store
  /** Changes that resolve once no process can admit a call on the old state. */
  readonly book: Pick<Book, 'changeKey' | 'deleteKey' | 'untilKnown'>
  readonly clock: Clock
  readonly hash: KeyedHash
  readonly offering: {
    readonly catalogue: Catalogue
    /** How vendors are reached, to try keys at them. */
    readonly vendors?: ReadonlyMap<string, VendorSetup>
  }
  /** Seals and opens the keys that organisations have at vendors. */
  readonly ownKeys?: OwnKeyRing
  readonly options: Pick<CallSettings, 'planRpm' | 'creditNano' | 'ownKeyRpm' | 'cell'>
  /**
   * Who charges cards, with by how much a wallet is topped up in a UTC day at most; a command that opens no checkout
   * knows only that.
   */
  readonly payments: {
    readonly stripe?: (Pick<StripePayments, 'topUpDailyMax'> & Partial<StripePayments>) | undefined
    readonly x402?: unknown
  }
  readonly log?: Pick<Log, 'warn'>
  /** What issues and checks receipts; absent where they are off, and for commands. */
  readonly receipts?: Receipts
  /** What the operator set for the console; links of a command are shown to who runs it. */
  readonly console?: ConsoleSettings | undefined
  /** Where payers come back to, if not to what the operator set. */
  readonly returnTo?: { readonly origin: string; readonly back?: string }
  /** The address under which people reach the console, for links. */
  readonly origin?: string | undefined
}

/** An act under way. */
export type Acting = {
  readonly control: Control
  readonly who: Who
  /** An act that changes things says so where it knows that it changed nothing: then who looked is recorded instead. */
  readonly unchanged?: () => void
}

export type Shape = Readonly<Record<string, z.ZodType>>
type InputOf<Members extends Shape> = z.output<z.ZodObject<Members>>

/** What an act is, beside the rights that it needs and whether it changes something. */
type Said<Members extends Shape, Shown> = {
  /** Such as `key.create`: the subject and the verb. */
  readonly name: string
  readonly summary: string
  /** Every member of its input, wherever a face takes it from: path, query, body, header or option. */
  readonly input: Members
  /** What must hold of the members together. */
  readonly check?: {
    readonly holds: (input: Readonly<Record<string, unknown>>) => boolean
    readonly param: string
    readonly message: string
  }
  /** What is said of a member that it does not take. */
  readonly strangers?: string
  /** What it shows. Amounts are nano-USD (`bigint`); each face writes them in its form. */
  readonly shows: z.ZodType<Shown>
  /**
   * Amounts that no reseller has a price for: `paid` are real payments, and `told` are what tenants are told already. All
   * others are told to tenants at the price of this month.
   */
  readonly amounts?: 'paid' | 'told'
  /** It is done in a cell that the organisation has left, too: what is still there of it is meant. */
  readonly afterMove?: true
  does(acting: Acting, input: InputOf<Members>): Promise<Shown>
}

export type Act<Members extends Shape = Shape, Shown = unknown> = Said<Members, Shown> & {
  /** It needs one of these rights. */
  readonly may: readonly Right[]
  /**
   * It changes something: one event for each thing that it changes, in the transaction of that change, and none when it is
   * refused. Some acts give the same value again with an event, others notice.
   */
  readonly changes: boolean
}

/** Whether an act only reads or changes something, each with the rights of which it needs one. */
type Needs = { readonly reads: readonly Right[] } | { readonly changes: readonly Right[] }

/** States an act; its types are those of its schemas. */
export const act = <Members extends Shape, Shown>(it: Said<Members, Shown> & Needs): Act<Members, Shown> =>
  'changes' in it ? { ...it, may: it.changes, changes: true } : { ...it, may: it.reads, changes: false }

/** An act whatever it takes and shows, for tables of them. */
export type AnyAct = Act

/** The schema of those members that a face reads from a body, which refuses others or is loose. */
export const bodyOf = (
  { input, check, strangers }: AnyAct,
  members = Object.keys(input),
  others: 'refused' | 'loose' = 'refused',
): z.ZodType => {
  const shape = Object.fromEntries(members.map((name) => [name, input[name] as z.ZodType]))
  const error =
    strangers === undefined
      ? undefined
      : (issue: { readonly code?: string }) => (issue.code === 'unrecognized_keys' ? strangers : undefined)
  const read =
    others === 'loose'
      ? z.looseObject(shape)
      : z.strictObject(shape, error === undefined ? undefined : { error })
  return check === undefined
    ? read
    : read.refine(check.holds, { path: [check.param], message: check.message })
}

const inputs = new WeakMap<AnyAct, z.ZodType>()
const inputOf = (it: AnyAct): z.ZodType => {
  const known = inputs.get(it) ?? bodyOf(it)
  inputs.set(it, known)
  return known
}

/** What a tenant sends, with its bounds in our price: every `bigint` in it is an amount. */
const bounded = (value: unknown, terms: Terms): unknown => {
  if (typeof value === 'bigint') return bound(value, terms)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, bounded(member, terms)]))
}

/** Why nothing of the organisation is changed here: it is being moved to another cell, or was. Others of the house name it, or its wallet. */
const elsewhereFor = async (
  { store }: Control,
  { reach }: Who,
  { organisation, wallet = organisation }: Readonly<Record<string, unknown>>,
): Promise<Refusal | undefined> => {
  if (reach.of === 'key') {
    const away = awayOf(reach.key)
    return away && elsewhere(away)
  }
  const named = reach.of === 'house' ? wallet : reach.orgId
  const cell = typeof named === 'string' ? await store.wallets.cellOf(named) : undefined
  return cell === undefined ? undefined : notHere(cell)
}

/**
 * Performs an act: checks the right, reads the input, does it, and records that who leaves an event of each use has looked.
 * Throws the refusal of what is wrong, which is the same in every face. `read` is called once the caller is known to have
 * the right.
 */
export const perform = async <Members extends Shape, Shown>(
  control: Control,
  who: Who,
  it: Act<Members, Shown>,
  read: () => JsonObject | Promise<JsonObject>,
): Promise<Shown> => {
  must(who.lacks(it.may))
  const input = readAs(inputOf(it) as z.ZodType<InputOf<Members>>, await read())
  if (input instanceof Refusal) throw input
  if (it.changes && it.afterMove !== true) must(await elsewhereFor(control, who, input))
  const terms = who.reach.of === 'key' && it.amounts !== 'paid' ? who.reach.key.terms : undefined
  let { changes } = it
  const unchanged = () => {
    changes = false
  }
  const asked = terms === undefined ? input : (bounded(input, terms) as typeof input)
  const shown = await it.does({ control, who, unchanged }, asked)
  if (!changes) await who.looked?.(it.name)
  return shown
}
