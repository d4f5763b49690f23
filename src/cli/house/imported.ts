/** What an import makes of another gateway's keys, whichever that is: organisations with keys, and what is told. */
import { createHash } from 'node:crypto'
import type { JsonObject } from '../../core/json-body.ts'
import { decimalFromNano, greatest, type Nano, nanoFromDecimal, nanoFromNumber } from '../../core/money.ts'
import { type CapMember, capNamed } from '../../tenancy/limits.ts'

export type ImportedOrganisation = {
  readonly name: string
  readonly keys: Record<string, JsonObject>
  /** What its wallet has there, in nano-USD. */
  readonly balance?: Nano
}

/** What is to be made, by the ids of organisations; and what was left out or changed, a line each. */
export type Imported = {
  readonly organisations: Readonly<Record<string, ImportedOrganisation>>
  readonly told: readonly string[]
  /** The keys that callers have. */
  readonly keys: number
}

export const sha256 = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex')

/** An id of ours for one of theirs, which may be anything. */
export const idOf = (kind: 'key' | 'org', what: string, theirs: string): string =>
  `${kind}_${what}_${/^[\w-]{1,40}$/.test(theirs) ? theirs : sha256(theirs).slice(0, 32)}`

/** A label has at most as many letters. */
export const labelFrom = (text: string): string => text.slice(0, 200)

/** The largest rate there is; it binds nobody. */
export const RATE_MOST = 1_000_000_000

/** More than this is as good as no budget. */
const LARGEST = nanoFromDecimal('1000000000') ?? 0n

/** Their amounts are floats, which may have more decimals than there are nano-dollars. */
export const nanoOf = (usd: number): Nano => nanoFromNumber(usd) ?? (usd > 1 ? LARGEST : 0n)

/** A budget: the cap that it becomes, what it allows and what was spent of it, in nano-USD. */
export type Budget = { readonly member: CapMember; readonly most: Nano; readonly spent: Nano }

export const leftOf = ({ most, spent }: Budget): Nano => greatest(0n, most - spent)

/** A budget, and what was spent in all, as members of a key. */
export const membersOf = (budget: Budget | undefined, spent: Nano): JsonObject => {
  const counted = budget === undefined ? undefined : capNamed(budget.member)?.cap.shown
  const before = {
    ...(spent === 0n ? {} : { spent_usd: decimalFromNano(spent) }),
    ...(budget === undefined || counted === undefined || budget.spent === 0n
      ? {}
      : { [counted]: decimalFromNano(budget.spent) }),
  }
  return {
    ...(budget === undefined ? {} : { [budget.member]: decimalFromNano(budget.most) }),
    ...(Object.keys(before).length === 0 ? {} : { spent_before: before }),
  }
}
