/** One settlement as a line of the outbox: a checksum and JSON. A line that a crash cut short fails the checksum. */
import type { Settle } from '../ledger/types.ts'

const CHECKSUM_LENGTH = 8

const checksumOf = (text: string): string => Bun.hash.crc32(text).toString(16).padStart(CHECKSUM_LENGTH, '0')

/** JSON has no integers as large as amounts can be, so each is an object with this single member. */
const AMOUNT = '$amount'

const withAmounts = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? { [AMOUNT]: value.toString() } : value

const amounts = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && AMOUNT in value ? BigInt(String(value[AMOUNT])) : value

/**
 * A settlement as stored on disk. Its payer is called `walletId` there, as in the first version: an outbox outlives the
 * process that wrote it, and after an upgrade or a rollback another version reads it.
 */
type Recorded = Omit<Settle, 'payer'> & { readonly walletId: Settle['payer'] }

export const lineOf = ({ payer, ...rest }: Settle): string => {
  const recorded: Recorded = { ...rest, walletId: payer }
  const text = JSON.stringify(recorded, withAmounts)
  return `${checksumOf(text)} ${text}\n`
}

const settleOf = (line: string): Settle | undefined => {
  const text = line.slice(CHECKSUM_LENGTH + 1)
  // A line that passes was written by this program, so its shape is known.
  if (line.slice(0, CHECKSUM_LENGTH + 1) !== `${checksumOf(text)} `) return undefined
  const { walletId, ...rest }: Recorded = JSON.parse(text, amounts)
  return { ...rest, payer: walletId }
}

type RecordsRead = {
  readonly settles: readonly Settle[]
  /** Lines with a wrong checksum. Their write never succeeded, so no answer ended because of them. */
  readonly torn: number
}

export const settlesIn = (text: string): RecordsRead => {
  const lines = text.split('\n').filter((line) => line !== '')
  const settles = lines.map(settleOf).filter((settle) => settle !== undefined)
  return { settles, torn: lines.length - settles.length }
}
