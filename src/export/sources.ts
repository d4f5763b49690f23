/** What is exported, as batches of lines: charged calls, and the record of events. */
import { type Json, parseJson } from '../core/json-body.ts'
import { decimalFromNano } from '../core/money.ts'
import type { Link } from '../receipts/event-chain.ts'
import type { CallRecord, ExportStore } from '../store/exports/export-port.ts'
import type { ChainStore } from '../store/people/chain-store.ts'
import type { Batch } from './sinks.ts'

/** A batch that nobody else gets until it is released, or for five minutes. */
type Claimed = {
  readonly batch: Batch
  /** Whether there may be more at once. */
  readonly more: boolean
  /** The sink has it, or does not. */
  readonly release: (exported: boolean) => Promise<void>
}

/** The oldest of what waits to be exported, at most so many lines. */
export type Source = (most: number) => Promise<Claimed | undefined>

/** If a process dies with a batch, others take it after this time, which is longer than any sink may take. */
const CLAIM_MS = 300_000

const instant = (at: number): string => new Date(at).toISOString()
const linesOf = (lines: readonly object[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('')

/** Charged calls. */
export const callSource =
  (store: ExportStore): Source =>
  async (most) => {
    const records = await store.claimExports(most, CLAIM_MS)
    const [first] = records
    if (first === undefined) return undefined
    const ids = records.map(({ id }) => id)
    return {
      batch: { lines: linesOf(records.map(callLine)), first: first.id, at: first.at },
      more: records.length === most,
      release: (exported) => (exported ? store.exported(ids) : store.releaseExports(ids)),
    }
  }

/** Amounts are decimal texts of USD; times are in UTC. */
const callLine = ({ id, at, keyId, orgId, payer, amount, detail }: CallRecord): object => ({
  id,
  charged_at: instant(at),
  organization_id: orgId,
  wallet_id: payer,
  key_id: keyId,
  charged_usd: decimalFromNano(amount),
  ...(detail === undefined
    ? {}
    : {
        model: detail.model,
        vendor: detail.vendor,
        usage: detail.usage,
        tags: detail.tags,
        estimated: detail.estimated,
        started_at: instant(detail.startedAt),
        took_ms: detail.tookMs,
        first_byte_ms: detail.firstByteMs,
        ended: detail.ended,
        price_version: detail.priceVersion,
      }),
})

/** The record of events from its first one on, with the signed ends of its chain: docs/events.md checks these lines as they are. */
export const eventSource =
  (store: Pick<ChainStore, 'claimLinks' | 'releaseLinks'>): Source =>
  async (most) => {
    const piece = await store.claimLinks(most, CLAIM_MS)
    if (piece === undefined) return undefined
    const { links, heads, seq, at } = piece
    const release = (exported: boolean) => store.releaseLinks(piece, exported)
    return {
      batch: {
        lines: linesOf([...links.map(eventLine), ...heads.map((head) => ({ head }))]),
        first: `${links.length === 0 ? 'head' : 'events'}-${String(links[0]?.seq ?? seq).padStart(12, '0')}`,
        at,
      },
      more: links.length === most,
      release,
    }
  }

/** The link, which proves it, behind what it says. */
const eventLine = ({ fixed, text, ...link }: Link): object => {
  const [, id, , organization, kind, actor, operator, what, subject] = listOf(fixed)
  const [name, address, before, after] = listOf(text)
  return {
    id,
    at: instant(link.at),
    organization_id: organization,
    by: { kind, id: actor, name, operator, address },
    what,
    subject,
    before: storedJson(before),
    after: storedJson(after),
    seq: link.seq,
    hash: link.hash,
    fixed,
    named: link.named,
    salt: link.salt ?? null,
    text,
  }
}

const listOf = (text: string): readonly Json[] => {
  const value = parseJson(text)
  return Array.isArray(value) ? value : []
}

/** What an event says of before and after is stored as text. */
const storedJson = (text: Json | undefined): Json =>
  typeof text === 'string' ? (parseJson(text) ?? null) : null
