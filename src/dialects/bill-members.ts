/**
 * The members that a bill adds to an answer, as exact decimal texts. Every dialect puts them where its clients skip or
 * read them.
 */
import type { Usage } from '../core/usage.ts'

export type Bill = {
  /** USD; absent where the caller is not told what it costs. */
  readonly cost?: string
  /** USD by usage class. */
  readonly details?: Readonly<Record<string, string>>
  readonly estimated: boolean
  /**
   * The bound that was sent in place of the model's own because no more was affordable, or in place of a larger bound
   * of the caller's.
   */
  readonly lowered?: number
}

export type Balance = { readonly remainingCredits: string; readonly warning: boolean }

/**
 * An answer that is remembered for its caller: the id of the answer it continues or of its conversation, whether it is
 * stored, and whether it is made in the background.
 */
export type KeptAnswer = {
  readonly previous?: string
  readonly conversation?: string
  readonly stored: boolean
  readonly background?: object
}

export type Billed = { readonly usage: Usage; readonly bill: Bill; readonly kept?: KeptAnswer }

/** Members `"cost":…,"cost_details":{…}` as JSON text, to follow other members. */
const billText = ({ cost, details, estimated, lowered }: Bill): string => {
  let each = ''
  // Names of usage classes need no escapes.
  for (const name in details) each += `${each === '' ? '' : ','}"${name}":${details[name]}`
  const bound = lowered === undefined ? '' : `"max_tokens_lowered":${lowered},`
  return `${estimated ? '"estimated":true,' : ''}${bound}"cost":${cost},"cost_details":{${each}}`
}

/** What a bill without a cost says, as members. */
const untold = ({ estimated, lowered }: Bill) => ({
  ...(estimated ? { estimated } : {}),
  ...(lowered === undefined ? {} : { max_tokens_lowered: lowered }),
})

/** JSON text of an object with the bill's members after its own. */
export const withBill = (usage: object, bill: Bill): string => {
  if (bill.cost === undefined) return JSON.stringify({ ...usage, ...untold(bill) })
  const text = JSON.stringify(usage)
  return `${text.slice(0, -1)}${text === '{}' ? '' : ','}${billText(bill)}}`
}

/** Edits that remove the balance of a vendor that is itself a Turnpike. */
export const noBalance = { _balance_warning: undefined, _remaining_credits: undefined } as const

/** The balance as JSON text, to follow other members. */
const balanceText = (balance: Balance): string =>
  `,"_balance_warning":${balance.warning},"_remaining_credits":${balance.remainingCredits}`

/** A whole answer with the balance, if known, as its last members. The receipt's hash covers the bytes without them. */
export const withBalance = (answer: Uint8Array, balance: Balance | undefined): Uint8Array =>
  balance === undefined ? answer : endedWith(answer, `${balanceText(balance)}}`)

/** JSON bytes with an ASCII text in place of the last byte. */
const endedWith = (json: Uint8Array, ending: string): Uint8Array => {
  const whole = Buffer.allocUnsafeSlow(json.length - 1 + ending.length)
  whole.set(json)
  whole.write(ending, json.length - 1, 'latin1')
  return whole
}

/**
 * The end of a stream is written before the charge, so that the receipt can cover its bytes. It has slots for what is
 * only known after the charge. The slots are control characters, which JSON text never contains. This one follows other
 * members.
 */
export const membersSlot = '\u0001'
const commentSlot = '\u0002'

/** The cost of a stream as a comment, which clients skip: the headers went out long before. */
export const costComment = ({ cost }: Bill): string =>
  `${cost === undefined ? '' : `: x-cost-usd: ${cost}\n\n`}${commentSlot}`

/**
 * A sign of life while the vendor is silent. It must not be `: ping`, because @continuedev/fetch stops reading there.
 */
export const keepAlive = ': keep-alive\n\n'

/** The end of a stream with its slots filled. The receipt is a member where the balance is one, else a comment. */
export const filled = (ending: string, balance: Balance | undefined, receipt: string | undefined): string => {
  const balanceMember = balance === undefined ? '' : balanceText(balance)
  const asMember = ending.includes(membersSlot)
  const member = receipt === undefined ? '' : `,"receipt":"${receipt}"`
  const comment = receipt === undefined || asMember ? '' : `: x-receipt: ${receipt}\n\n`
  return ending.replace(membersSlot, balanceMember + member).replace(commentSlot, comment)
}
