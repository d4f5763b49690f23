/**
 * What a browser brings from the console of one cell to that of another: who proved which address, and when. It is signed
 * under the secret that all cells share, for one cell, and the cell takes it once, within a minute.
 */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { hows } from '../../control/people/proof.ts'
import { parseJson } from '../../core/json-body.ts'
import { isOurs, type KeyedHash } from '../../core/keyed-hash.ts'
import type { Instant } from '../../core/time.ts'

/** How long it may be on its way. */
const HAND_OVER_MS = 60_000
/** How far the clock of the cell that made it may be ahead. */
const AHEAD_MS = 5_000

const shape = z.strictObject({
  id: z.string(),
  from: z.string(),
  to: z.string(),
  email: z.string(),
  organisation: z.string(),
  /** The proof that the address is the person's, as the first cell has stored it. */
  proof: z.strictObject({ how: z.enum(hows), at: z.int() }),
  /** When they signed in there. */
  signedAt: z.int(),
  madeAt: z.int(),
})
export type HandOver = z.output<typeof shape>

/** What a text is signed for: one that is signed for something else is none. */
type Purpose = 'hand-over between cells' | 'half of a sign-in from a cell'

const signedText = (purpose: Purpose, body: string): string => `${purpose} ${body}`

/** The text, signed; the browser may read it. */
export const signed = (hash: KeyedHash<string>, purpose: Purpose, value: HandOver): string => {
  const body = Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${body}.${hash(signedText(purpose, body))}`
}

/** What was signed for the purpose, under the present or the previous secret; undefined for any other text. */
export const opened = (hash: KeyedHash<string>, purpose: Purpose, text: string): HandOver | undefined => {
  const [body = '', signature = '', more] = text.split('.')
  if (more !== undefined || !isOurs(hash, signedText(purpose, body), signature)) return undefined
  return shape.safeParse(parseJson(Buffer.from(body, 'base64url').toString())).data
}

/** A new one, which nobody can guess. */
export const newHandOver = (about: Omit<HandOver, 'id'>): HandOver => ({
  id: randomBytes(16).toString('hex'),
  ...about,
})

/** Whether it may be taken now by its age. */
export const isInTime = ({ madeAt }: HandOver, now: Instant): boolean =>
  madeAt - now <= AHEAD_MS && now - madeAt <= HAND_OVER_MS
