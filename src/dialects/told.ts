/** What an answer is told of its bill, in exact decimal texts; every dialect puts it where its clients skip or read it. */
import { concat } from '../core/json-body.ts'
import type { Usage } from '../core/usage.ts'

export type Bill = {
  /** USD. */
  readonly cost: string
  /** USD by usage class. */
  readonly details: Readonly<Record<string, string>>
  readonly estimated: boolean
  /** The bound that was sent in place of the model's own, because no more was affordable, or of a larger one of the caller's. */
  readonly lowered?: number
}

export type Balance = { readonly remainingCredits: string; readonly warning: boolean }

/** An answer that is kept for its caller, and the one it went on from. */
export type Kept = { readonly previous?: string }

export type Told = { readonly usage: Usage; readonly bill: Bill; readonly kept?: Kept }

/** Members `"cost":…,"cost_details":{…}` as JSON text, to stand behind others. */
const billMembers = ({ cost, details, estimated, lowered }: Bill): string => {
  const each = Object.entries(details).map(([name, usd]) => `${JSON.stringify(name)}:${usd}`)
  const bound = lowered === undefined ? '' : `"max_tokens_lowered":${lowered},`
  return `${estimated ? '"estimated":true,' : ''}${bound}"cost":${cost},"cost_details":{${each.join(',')}}`
}

/** JSON text of an object with the bill's members behind its own. */
export const withBill = (usage: object, bill: Bill): string => {
  const text = JSON.stringify(usage)
  return `${text.slice(0, -1)}${text === '{}' ? '' : ','}${billMembers(bill)}}`
}

/** Edits that take out the balance of a vendor which is a Turnpike itself. */
export const noBalance = { _balance_warning: undefined, _remaining_credits: undefined } as const

/** The balance as JSON text to stand behind other members. */
const balanceText = (balance: Balance): string =>
  `,"_balance_warning":${balance.warning},"_remaining_credits":${balance.remainingCredits}`

/** A whole answer with the balance, if it is known, as its last members: the hash in a receipt is of the bytes without them. */
export const withBalance = (answer: Uint8Array, balance: Balance | undefined): Uint8Array =>
  balance === undefined
    ? answer
    : concat([answer.subarray(0, -1), encoder.encode(`${balanceText(balance)}}`)])

const encoder = new TextEncoder()

/**
 * The end of a stream is written before the charge, so that the receipt can speak of its bytes, and has slots for what is
 * known after it. They are control characters, which JSON text never contains. This one stands behind other members.
 */
export const membersSlot = '\u0001'
const commentSlot = '\u0002'

/** The cost of a stream as a comment that clients skip: headers have gone out long before. */
export const costComment = (bill: Bill): string => `: x-cost-usd: ${bill.cost}\n\n${commentSlot}`

/** A sign of life while the vendor says nothing. Source of what it may not say: @continuedev/fetch stops reading at `: ping`. */
export const keepAlive = ': keep-alive\n\n'

/** The end of a stream with its slots filled: the receipt is a member where the balance is told, else a comment. */
export const filled = (ending: string, balance: Balance | undefined, receipt: string | undefined): string => {
  const told = balance === undefined ? '' : balanceText(balance)
  const asMember = ending.includes(membersSlot)
  const member = receipt === undefined ? '' : `,"receipt":"${receipt}"`
  const comment = receipt === undefined || asMember ? '' : `: x-receipt: ${receipt}\n\n`
  return ending.replace(membersSlot, told + member).replace(commentSlot, comment)
}
