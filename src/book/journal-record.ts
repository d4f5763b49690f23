/** One settlement as a line of the journal: a checksum and JSON. A line that a crash cut short does not pass. */
import type { Settle } from '../ledger/words.ts'

const CHECKSUM_LENGTH = 8

const checksumOf = (text: string): string => Bun.hash.crc32(text).toString(16).padStart(CHECKSUM_LENGTH, '0')

/** JSON has no integers as large as an amount can be: each is an object of this one member. */
const AMOUNT = '$amount'

const withAmounts = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? { [AMOUNT]: value.toString() } : value

const amounts = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && AMOUNT in value ? BigInt(String(value[AMOUNT])) : value

export const lineOf = (settle: Settle): string => {
  const text = JSON.stringify(settle, withAmounts)
  return `${checksumOf(text)} ${text}\n`
}

const settleOf = (line: string): Settle | undefined => {
  const text = line.slice(CHECKSUM_LENGTH + 1)
  // What passes was written by this program, so its shape is known.
  if (line.slice(0, CHECKSUM_LENGTH + 1) !== `${checksumOf(text)} `) return undefined
  return JSON.parse(text, amounts)
}

type Read = {
  readonly settles: readonly Settle[]
  /** Lines that do not pass. Their write never ended well, so no answer was ended on their account. */
  readonly torn: number
}

export const settlesIn = (text: string): Read => {
  const lines = text.split('\n').filter((line) => line !== '')
  const settles = lines.map(settleOf).filter((settle) => settle !== undefined)
  return { settles, torn: lines.length - settles.length }
}
