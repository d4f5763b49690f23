/**
 * The record of events as a chain. A link is SHA-256, in hex, of `<hash before>\n<fixed>\n<named>`: `fixed` is the text of what
 * never changes, `named` the SHA-256 of `<salt><text>` of what names people. Forgetting somebody deletes the salt, so that the
 * text may change and the chain holds. Ends of the chain are signed as a JWS (RFC 7515, EdDSA) of type `event-head+jwt`.
 */
import type { KeyObject } from 'node:crypto'
import type { Instant } from '../core/time.ts'
import { readHead, signHead } from './heads.ts'
import type { SigningKey } from './token.ts'

const FIRST = ''
/** An event is written within this, and sealed soon: one that is much older than a head before it was not there then. */
const LATE_MS = 600_000

const sha256 = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')

export const namedHash = (salt: string, text: string): string => sha256(`${salt}${text}`)
export const linkHash = (before: string, fixed: string, named: string): string =>
  sha256(`${before}\n${fixed}\n${named}`)

/** A link as it is stored, with the texts that its columns give now. */
export type Link = {
  readonly seq: number
  readonly hash: string
  readonly at: Instant
  readonly what: string
  readonly fixed: string
  readonly named: string
  readonly text: string
  /** Absent once somebody whom the event names was forgotten. */
  readonly salt?: string
}

/** An end of the chain: how many links there are, the last one's hash, and when it was signed, in seconds. */
type Head = { readonly seq: number; readonly hash: string; readonly iat: number }

/** Signs an end of the chain at a time. */
export const signChainHead = (signer: SigningKey, seq: number, hash: string, now: Instant): string =>
  signHead(signer, 'event-head+jwt', { seq, hash, iat: Math.floor(now / 1000) })

/** The head, if one of the keys has signed it. */
const readChainHead = (token: string, keys: ReadonlyMap<string, KeyObject>): Head | undefined => {
  const claims = readHead(token, 'event-head+jwt', keys)
  return claims && { seq: Number(claims.seq), hash: String(claims.hash), iat: Number(claims.iat) }
}

type ChainFound = {
  readonly links: number
  readonly heads: number
  /** Links that name somebody who was forgotten. */
  readonly forgotten: number
  /** What is wrong first; undefined if nothing is. */
  readonly wrong: string | undefined
}

const FORGETTING: readonly string[] = ['person.removed', 'customer.forgotten']

/** Checks a chain link by link, from the first, against its signed heads. */
export const checkChain = (tokens: readonly string[], keys: ReadonlyMap<string, KeyObject>) => {
  const heads = tokens.map((token) => readChainHead(token, keys))
  const bySeq = new Map(heads.flatMap((head) => (head === undefined ? [] : [[head.seq, head]])))
  let wrong = heads.includes(undefined) ? 'a signed head is not ours' : undefined
  let [seq, hash, forgotten, lastForgotten, lastForgetting, signedAt] = [0, FIRST, 0, 0, 0, 0]
  const find = (what: string) => {
    wrong ??= what
  }
  return {
    add: (link: Link): void => {
      if (link.seq !== seq + 1) find(`event ${seq + 1} is missing`)
      if (linkHash(hash, link.fixed, link.named) !== link.hash) find(`event ${link.seq} was changed`)
      if (link.salt === undefined) {
        forgotten++
        lastForgotten = link.seq
      } else if (namedHash(link.salt, link.text) !== link.named) find(`event ${link.seq} was changed`)
      if (FORGETTING.includes(link.what)) lastForgetting = link.seq
      if (link.at < signedAt - LATE_MS) find(`event ${link.seq} was inserted later`)
      const head = bySeq.get(link.seq)
      if (head !== undefined && head.hash !== link.hash) find(`the chain is another up to event ${link.seq}`)
      signedAt = Math.max(signedAt, (head?.iat ?? 0) * 1000)
      ;[seq, hash] = [link.seq, link.hash]
    },
    end: (): ChainFound => {
      if (Math.max(0, ...bySeq.keys()) > seq) find(`events after ${seq} are missing`)
      if (lastForgotten > lastForgetting)
        find(`event ${lastForgotten} lost its names, and nobody was forgotten`)
      return { links: seq, heads: tokens.length, forgotten, wrong }
    },
  }
}
