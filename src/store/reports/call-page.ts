/** The one query for calls, however they ended: a page of them, newest first, that a filter takes. */
import type { TagFilter, Tags } from '../../tenancy/tags.ts'
import { type Engine, once } from '../engine/engine.ts'
import { countOf } from '../engine/row.ts'
import { leastId } from '../months/call-ids.ts'
import {
  busiest,
  busiestIn,
  charged,
  failed,
  type Look,
  ofAll,
  ofEach,
  type Source,
  wholeOrgs,
} from './call-lines.ts'
import type { CallFilter, CallLine, CallPage, CallPlace, CallQuery } from './call-port.ts'

const GONE = 'client_gone'

/** How a call ended, in a word: as it was charged, or `refused` by us, `failed` by a vendor or us, given up by its caller. */
export const outcomeOf = ({ detail, failure }: Pick<CallLine, 'detail' | 'failure'>): string => {
  if (failure === undefined) return detail?.ended ?? 'recovered'
  return failure.code === GONE ? GONE : failure.status < 500 ? 'refused' : 'failed'
}

const takes = (
  { model, vendor, status, code, asked: wasAsked, costFrom, costTo, tag }: CallFilter,
  line: CallLine,
): boolean => {
  const { detail, failure, amount } = line
  const outcome = outcomeOf(line)
  const tries = detail?.tries ?? failure?.detail.tries ?? []
  const asked = [detail?.vendor, failure?.vendor, ...tries.map((one) => one.vendor)]
  return (
    (model === undefined || (detail ?? failure)?.model === model) &&
    (vendor === undefined || asked.includes(vendor)) &&
    (status === undefined || (status === 'not_ok' ? outcome !== 'ok' : outcome === status)) &&
    (code === undefined || failure?.code === code || String(failure?.status) === code) &&
    (wasAsked === undefined || asked.some((one) => one !== undefined)) &&
    (costFrom === undefined || amount >= costFrom) &&
    (costTo === undefined || amount <= costTo) &&
    (tag === undefined || hasTag(tag, (detail ?? failure?.detail)?.tags))
  )
}

const hasTag = ({ name, value }: TagFilter, tags: Tags = {}): boolean =>
  Object.hasOwn(tags, name) && (value === undefined || tags[name] === value)

/** Where calls that the filter takes can be. */
const sourcesOf = ({ status, code, costFrom = 0n }: CallFilter): readonly Source[] => {
  if (code !== undefined || status === 'refused' || status === 'failed') return [failed]
  return costFrom > 0n || status === 'ok' ? [charged] : [charged, failed]
}

const isBefore = (one: CallPlace, other: CallPlace): boolean =>
  one.at < other.at || (one.at === other.at && one.id < other.id)

/** The place before which a page ends; undefined for the newest, and null if the call that was named is not there. */
const startOf = async (engine: Engine, { before, to }: CallQuery, byKey: boolean) => {
  const end = to === undefined ? undefined : { at: to, id: byKey ? '' : leastId(to) }
  if (before === undefined) return end
  const place = typeof before === 'string' ? await placeOfCall(engine, before) : before
  if (place === undefined) return null
  return end !== undefined && isBefore(end, place) ? end : place
}

const placeOfCall = async (engine: Engine, id: string): Promise<CallPlace | undefined> => {
  const [row] = await once(
    engine,
    'reading',
    `select t.at from transfer t where t.kind = 'usage' and t.ref = $1
       union all select f.at from failed_call f where f.call_id = $1 order by 1 limit 1`,
    id,
  )
  return row === undefined ? undefined : { at: countOf(row, 'at'), id }
}

const placeOf = ({ at, id }: CallLine): CallPlace => ({ at, id })

/** The newest calls of the sources before a place, in one order. */
const lookOnce = async (
  engine: Engine,
  sources: readonly Source[],
  look: Look,
  byKey: boolean,
): Promise<readonly CallLine[]> => {
  const all = { statements: sources.map((source) => ofAll(engine, source, look)), sources }
  const { statements, sources: asked } = byKey ? await keyed(engine, sources, look) : all
  if (statements.length === 0) return []
  const found = await engine.batch('reading', statements)
  const lines = found.flatMap((rows, at) => rows.flatMap((row) => asked[at]?.lineOf(row) ?? []))
  const order = byKey
    ? (one: CallLine, other: CallLine) => (isBefore(one, other) ? 1 : -1)
    : (one: CallLine, other: CallLine) => (one.id < other.id ? 1 : -1)
  return lines.sort(order).slice(0, look.most)
}

/** How many calls of all organisations are looked through for those of one. */
const RECENT = 2_000

/** The newest calls in the order of their beginnings, if there are enough among the newest of all; else by their keys. */
const lookByStart = async (
  engine: Engine,
  sources: readonly Source[],
  look: Look,
): Promise<readonly CallLine[]> => {
  const { place: end } = look
  const place = end?.id === '' ? { ...end, id: leastId(end.at) } : end
  const found = await lookOnce(engine, sources, { ...look, place, among: RECENT }, false)
  return found.length === look.most ? found : lookOnce(engine, sources, look, true)
}

/** The looks at each source by key or organisation, without sources in which none has a call. */
const keyed = async (engine: Engine, sources: readonly Source[], look: Look) => {
  const byKey = sources.filter((source) => wholeOrgs(source, look) === undefined)
  const found =
    byKey.length === 0
      ? []
      : await engine.batch(
          'reading',
          byKey.map((source) => busiest(source, look)),
        )
  const used = sources.flatMap((source) => {
    const whose = wholeOrgs(source, look) ?? busiestIn(found[byKey.indexOf(source)] ?? [], look)
    return whose.ids.length === 0 ? [] : [{ source, whose }]
  })
  return {
    statements: used.map(({ source, whose }) => ofEach(engine, source, look, whose)),
    sources: used.map(({ source }) => source),
  }
}

/** How many calls are looked at together where a filter may leave out many of them. */
const LOOK_MOST = 250
const SEARCH_MS = 150

export const callPage = async (engine: Engine, query: CallQuery): Promise<CallPage> => {
  const { only = {}, most, from = 0, to = Number.POSITIVE_INFINITY, searchMs = SEARCH_MS } = query
  const some =
    query.orgs !== 'all' ||
    (query.keyId ?? query.tree ?? query.madeBy ?? query.team ?? query.tenant) !== undefined
  const byKey = query.id === undefined && query.batch === undefined && some
  const start = await startOf(engine, query, byKey)
  if (start === null) return { lines: [] }
  const filters = Object.values(only).some((value) => value !== undefined)
  const atOnce = filters ? Math.max(LOOK_MOST, most + 1) : most + 1
  const sources = sourcesOf(only)
  const untilMs = performance.now() + searchMs
  const lines: CallLine[] = []
  for (let place: CallPlace | undefined = start; ; ) {
    const fromMs = performance.now()
    const look = { ...query, place, most: atOnce }
    const found =
      byKey && query.byStart === true
        ? await lookByStart(engine, sources, look)
        : await lookOnce(engine, sources, look, byKey)
    for (const line of found) {
      if (line.at < from || line.at >= to || !takes(only, line)) continue
      const last = lines.at(-1)
      if (last !== undefined && lines.length === most) return { lines, next: placeOf(last) }
      lines.push(line)
    }
    const last = found.at(-1)
    if (last === undefined || found.length < atOnce) return { lines }
    place = placeOf(last)
    // Another look would take as long as this one.
    const nowMs = performance.now()
    if (2 * nowMs - fromMs > untilMs) return { lines, next: place }
  }
}
