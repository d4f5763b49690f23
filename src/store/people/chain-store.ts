/**
 * The chain of events in the store. Events are sealed after they were committed, by whoever locks the end of the chain, so
 * that writers of events never wait for each other.
 */
import { randomBytes } from 'node:crypto'
import type { Instant } from '../../core/time.ts'
import { type Link, linkHash, namedHash } from '../../receipts/event-chain.ts'
import { type Engine, once, type Row, statement } from '../engine/engine.ts'
import { countOf, maybeText, onlyRow, textOf } from '../engine/row.ts'

const SEALED_AT_ONCE = 500

export type ChainStore = {
  /** Seals events that are not in the chain yet, at most 500; returns how many. */
  seal(): Promise<number>
  /** The end of the chain, and that of its last signed head. */
  end(): Promise<{
    readonly seq: number
    readonly hash: string
    readonly signed: number
    readonly signedAt: Instant
  }>
  addHead(seq: number, token: string): Promise<void>
  links(after: number, most: number): Promise<readonly Link[]>
  /** The signed heads, oldest first. */
  heads(): Promise<readonly string[]>
  /** Links and heads that were not exported yet, at most as many links, which nobody else gets for a while. */
  claimLinks(most: number, forMs: number): Promise<ChainPiece | undefined>
  /** They were exported, or were not: then whoever asks next gets them. */
  releaseLinks(piece: ChainPiece, exported: boolean): Promise<void>
}

/** A piece of the chain, with the numbers of its last link and head, and the time of its first link, or else of its first head. */
type ChainPiece = {
  readonly links: readonly Link[]
  readonly heads: readonly string[]
  readonly at: number
  readonly seq: number
  readonly head: number
}

/** What never changes of an event, as one text. */
const fixedOf = (row: Row, seq: number): string =>
  JSON.stringify([
    seq,
    textOf(row, 'id'),
    countOf(row, 'at'),
    textOf(row, 'org_id'),
    maybeText(row, 'actor_as') ?? textOf(row, 'actor_kind'),
    textOf(row, 'actor_id'),
    countOf(row, 'operator') === 1,
    textOf(row, 'what'),
    textOf(row, 'subject'),
  ])

/** What goes when somebody is forgotten. */
const namedTextOf = (row: Row): string =>
  JSON.stringify([
    textOf(row, 'actor_name'),
    maybeText(row, 'address') ?? null,
    maybeText(row, 'before') ?? null,
    maybeText(row, 'after') ?? null,
  ])

const linkOf = (row: Row): Link => {
  const seq = countOf(row, 'seq')
  const salt = maybeText(row, 'salt')
  return {
    seq,
    hash: textOf(row, 'hash'),
    at: countOf(row, 'at'),
    what: textOf(row, 'what'),
    fixed: fixedOf(row, seq),
    named: textOf(row, 'named'),
    text: namedTextOf(row),
    ...(salt === undefined ? {} : { salt }),
  }
}

export const chainStore = (engine: Engine): ChainStore => {
  const { now, lock } = engine.dialect
  const links = async (after: number, most: number) => {
    const text = 'select * from event where seq > $1 order by seq limit $2'
    return (await once(engine, 'reading', text, after, most)).map(linkOf)
  }
  return {
    links,
    seal: async () => {
      const waiting = statement('select 1 as one from event where seq is null limit 1')
      if ((await once(engine, 'control', waiting)).length === 0) return 0
      return engine.transaction('control', async (run) => {
        await run(`insert into event_chain (id, seq, hash) values (1, 0, '') on conflict (id) do nothing`)
        const chain = onlyRow(await run(`select c.* from event_chain c where c.id = 1${lock('c')}`))
        // Locked, because somebody may be forgotten meanwhile.
        const rows = await run(
          `select e.* from event e where e.seq is null order by e.id limit ${SEALED_AT_ONCE}${lock('e')}`,
        )
        let [seq, hash] = [countOf(chain, 'seq'), textOf(chain, 'hash')]
        const sealed = rows.map((row) => {
          seq++
          const salt = randomBytes(16).toString('hex')
          const named = namedHash(salt, namedTextOf(row))
          hash = linkHash(hash, fixedOf(row, seq), named)
          return [textOf(row, 'id'), seq, hash, salt, named] as const
        })
        await Promise.all(
          sealed.map((link) =>
            run('update event set seq = $2, hash = $3, salt = $4, named = $5 where id = $1', link),
          ),
        )
        await run('update event_chain set seq = $1, hash = $2 where id = 1', [seq, hash])
        return rows.length
      })
    },
    end: async () => {
      const text = `select c.seq, c.hash, coalesce(max(h.seq), 0) as signed, coalesce(max(h.at), 0) as signed_at
        from event_chain c left join event_head h on h.seq > 0 where c.id = 1 group by c.seq, c.hash`
      const [row] = await once(engine, 'control', text)
      return row === undefined
        ? { seq: 0, hash: '', signed: 0, signedAt: 0 }
        : {
            seq: countOf(row, 'seq'),
            hash: textOf(row, 'hash'),
            signed: countOf(row, 'signed'),
            signedAt: countOf(row, 'signed_at'),
          }
    },
    addHead: async (seq, token) => {
      const text = `insert into event_head (seq, at, token) values ($1, ${now}, $2) on conflict (seq) do nothing`
      await once(engine, 'control', text, seq, token)
    },
    heads: async () =>
      (await once(engine, 'reading', 'select token from event_head order by seq')).map((row) =>
        textOf(row, 'token'),
      ),
    claimLinks: async (most, forMs) => {
      const [row] = await once(
        engine,
        'control',
        `update event_chain set export_until = ${now} + cast($1 as bigint) where id = 1 and export_until <= ${now}
             and (exported < seq or exported_head < (select max(h.seq) from event_head h))
           returning exported, exported_head`,
        forMs,
      )
      if (row === undefined) return undefined
      const piece = await links(countOf(row, 'exported'), most)
      const seq = piece.at(-1)?.seq ?? countOf(row, 'exported')
      const text = 'select seq, at, token from event_head where seq > $1 and seq <= $2 order by seq'
      const heads = await once(engine, 'reading', text, countOf(row, 'exported_head'), seq)
      const [first, last] = [heads[0], heads.at(-1)]
      return {
        links: piece,
        heads: heads.map((head) => textOf(head, 'token')),
        at: piece[0]?.at ?? (first === undefined ? 0 : countOf(first, 'at')),
        seq,
        head: last === undefined ? countOf(row, 'exported_head') : countOf(last, 'seq'),
      }
    },
    releaseLinks: async ({ seq, head }, exported) => {
      const mark = exported ? ', exported = $1, exported_head = $2' : ''
      const text = `update event_chain set export_until = 0${mark} where id = 1 and exported <= $1 and exported_head <= $2`
      await once(engine, 'control', text, seq, head)
    },
  }
}
