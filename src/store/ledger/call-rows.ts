/**
 * The rows of calls, as statements take them (in JSON members are single letters, because names would travel with every row),
 * and how the row of a detail is read, from JavaScript and in SQL.
 *
 * A detail is a list: a check of what it does not repeat, because model and tokens stand in columns, and the key in the posting;
 * when the call began, after the time in its id; how long it took; when its first byte came; the version of its prices; and, by
 * name, what is not as usual. Rows of former versions have all of it by name.
 */
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import { storable } from '../../core/storable.ts'
import { inputTokens, outputTokens, type Usage } from '../../core/usage.ts'
import { readDetail } from '../../ledger/read-detail.ts'
import type { CallId, Checkpoint, LeaseId, ReceiptFacts, Settle, UsageDetail } from '../../ledger/types.ts'
import type { KeyId } from '../../tenancy/key.ts'
import type { Engine, Row } from '../engine/engine.ts'
import { countOf, maybeText, textOf } from '../engine/row.ts'

export const json = (rows: readonly object[]): string => JSON.stringify(rows)
export const ids = (list: Iterable<string>): string => json([...list].map((c) => ({ c })))

/** One row per call: the largest hold and the largest checkpoint of the batch. */
export const latest = (progress: readonly Checkpoint[]): readonly Checkpoint[] => {
  const byCall = new Map<CallId, Checkpoint>()
  for (const next of progress) {
    const seen = byCall.get(next.callId)
    byCall.set(next.callId, {
      callId: next.callId,
      hold: seen !== undefined && seen.hold > next.hold ? seen.hold : next.hold,
      spent: seen !== undefined && seen.spent > next.spent ? seen.spent : next.spent,
      ...leaseOf(next.leaseId ?? seen?.leaseId),
    })
  }
  return [...byCall.values()]
}

const leaseOf = (leaseId: LeaseId | undefined): Pick<Checkpoint, 'leaseId'> =>
  leaseId === undefined ? {} : { leaseId }

/** The note on a charge whose cost was above the hold. */
export const noteOf = ({ excess }: Settle): string | null => (excess > 0n ? `house_excess ${excess}` : null)

export const answerRows = (settles: readonly Settle[]) =>
  settles.flatMap(({ callId, leaseId, answer }) =>
    answer === undefined
      ? []
      : [
          {
            k: answer.ref.keyId,
            e: answer.ref.endpoint,
            i: answer.ref.key,
            c: callId,
            s: answer.answer.status,
            h: storable(JSON.stringify(answer.answer.headers)),
            b: storable(answer.answer.body),
            l: leaseId,
          },
        ],
  )

/** The place in the list of what is not as usual. */
const UNUSUAL = 5
const USUALLY_ENDED = 'ok'

/** The vendor that a model's name says. */
const vendorOf = (model: string): string => model.slice(0, Math.max(model.indexOf('/'), 0))

/** Ids of calls begin with their time, from which their times count. Any other name gives some number, too. */
const baseOf = (callId: CallId): number => {
  let base = 0
  for (let at = 0; at < 13; at++) {
    const code = callId.charCodeAt(at)
    if (at !== 8) base = base * 16 + (code < 58 ? code - 48 : code - 87)
  }
  return base || 0
}

const mixed = (sum: number, text: string): number => {
  let mixing = sum
  for (let at = 0; at < text.length; at++) mixing = Math.imul(mixing ^ text.charCodeAt(at), 16_777_619)
  return mixing
}

/** Tells an edit of what stands once: key, model or tokens. One in 65,536 stays unseen. */
const checkOf = (keyId: KeyId, model: string, input: number, output: number): number => {
  const tokens = Math.imul(Math.imul(mixed(mixed(0, keyId), model) ^ input, 16_777_619) ^ output, 16_777_619)
  return (tokens ^ (tokens >>> 16)) & 0xffff
}

/** Versions of prices name the two catalogues that they are of; in any other, a first `=` is doubled. */
const versionInShort = (version: string): string =>
  version.replace(/^=/, '==').replace(/^genai-prices-([\w.]+)\+pi-catalog-([\w.:-]+)$/, '=$1+$2')
const wholeVersion = (version: string): string =>
  version.replace(/^=([\w.]+)\+([\w.:-]+)$/, 'genai-prices-$1+pi-catalog-$2').replace(/^==/, '=')

/** The last one that was written; nearly all calls have the same. */
let last = { of: '', short: '' }
const shortVersion = (of: string): string => {
  if (last.of !== of) last = { of, short: versionInShort(of) }
  return last.short
}

/** Whether units or prices are of two classes, input and output: what such a call used stands in its columns. */
const isPlain = (usage: Usage): boolean => {
  for (const name in usage) if (name !== 'input' && name !== 'output') return false
  return usage.input !== undefined && usage.output !== undefined
}

const HASH = /^sha256:[0-9a-f]{64}$/
const shortHash = (hash: string): string =>
  Uint8Array.fromHex(hash.slice(7)).toBase64({ alphabet: 'base64url', omitPadding: true })
const wholeHash = (hash: Json): string => `sha256:${Buffer.from(String(hash), 'base64url').toString('hex')}`

const byWallet = (payment: ReceiptFacts['payment']): boolean =>
  payment.mode === 'wallet' && Object.keys(payment).length === 1

/** The facts of a receipt: the prices of input and output without their names, and hashes in fewer letters. */
const shortFacts = (facts: ReceiptFacts): unknown => {
  const { prices, payment, requestHash, responseHash } = facts
  const authorized = facts.authorized.toString()
  if (!HASH.test(requestHash) || !HASH.test(responseHash)) return { ...facts, authorized }
  const unit = isPlain(prices) ? [prices.input, prices.output] : prices
  const list = [unit, authorized, shortHash(requestHash), shortHash(responseHash)]
  return byWallet(payment) ? list : [...list, payment]
}

const wholeFacts = (facts: Json | undefined): Json | undefined => {
  if (!Array.isArray(facts)) return facts
  const [unit, authorized = null, request = null, response = null, payment = { mode: 'wallet' }] = facts
  const [input = null, output = null] = Array.isArray(unit) ? unit : []
  const prices = Array.isArray(unit) ? { input, output } : (unit ?? null)
  return { prices, authorized, payment, requestHash: wholeHash(request), responseHash: wholeHash(response) }
}

/** The whole detail by name, as former versions read it. */
const byName = (detail: UsageDetail): string =>
  JSON.stringify(
    detail.receipt === undefined
      ? detail
      : { ...detail, receipt: { ...detail.receipt, authorized: detail.receipt.authorized.toString() } },
  )

/** Members that some details have, beside the receipt's facts. */
type Optional = Exclude<
  { [Name in keyof UsageDetail]-?: object extends Pick<UsageDetail, Name> ? Name : never }[keyof UsageDetail],
  'receipt'
>

/** What few calls have is written by its name. */
const sometimes = Object.keys({
  ...({ tries: 1, tags: 1, guardrails: 1, met: 1, cacheSaved: 1, vendorCost: 1 } as const),
  ...({ vendorKey: 1, vendorEstimate: 1 } as const),
} satisfies { readonly [Name in Optional]: 1 }) as Optional[]

const inShort = (callId: CallId, detail: UsageDetail, input: number, output: number): string => {
  const { keyId, model, vendor, usage, estimated, priceVersion, startedAt, tookMs } = detail
  const { firstByteMs, ended, receipt } = detail
  let unusual: Record<string, unknown> | undefined
  if (model.indexOf('/') !== vendor.length || !model.startsWith(vendor)) unusual = { vendor }
  if (!isPlain(usage)) unusual = { ...unusual, usage }
  if (estimated) unusual = { ...unusual, estimated }
  if (ended !== USUALLY_ENDED) unusual = { ...unusual, ended }
  if (receipt !== undefined) unusual = { ...unusual, receipt: shortFacts(receipt) }
  for (const name of sometimes) if (detail[name] !== undefined) unusual = { ...unusual, [name]: detail[name] }
  const check = checkOf(keyId, model, input, output)
  const list = [check, startedAt - baseOf(callId), tookMs, firstByteMs, shortVersion(priceVersion)]
  return JSON.stringify(unusual === undefined ? list : [...list, unusual])
}

/** The row of a detail by the letters that statements take it by; in short, unless a former version may have to read it. */
export const detailRow = (callId: CallId, detail: UsageDetail, short: boolean) => {
  const { model, usage } = detail
  const i = inputTokens(usage)
  const o = outputTokens(usage)
  return { c: callId, m: model, i, o, d: short ? inShort(callId, detail, i, o) : byName(detail) }
}

const columnsOf = (row: Row) => ({
  model: textOf(row, 'model'),
  input: countOf(row, 'input_tokens'),
  output: countOf(row, 'output_tokens'),
})

/** What `detailOf` reads of the row `d`. */
export const DETAIL_COLUMNS = 'd.model, d.input_tokens, d.output_tokens, d.detail'

/** The detail in a row with `DETAIL_COLUMNS`, of a call of that key; undefined if it has none that can be read. */
export const detailOf = (row: Row, callId: CallId, keyId: KeyId): UsageDetail | undefined => {
  const written = maybeText(row, 'detail')
  const value = written === undefined ? undefined : parseJson(written)
  if (!Array.isArray(value)) return value === undefined ? undefined : readDetail(value)
  const { model, input, output } = columnsOf(row)
  const [, begun, tookMs = null, firstByteMs = null, version, more] = value
  const unusual: JsonObject = isObject(more) ? more : {}
  const usage = unusual.usage ?? { input, output }
  const receipt = wholeFacts(unusual.receipt)
  return readDetail({
    ...{ keyId, model, vendor: vendorOf(model), estimated: false, ended: USUALLY_ENDED },
    ...{ startedAt: Number(begun) + baseOf(callId), tookMs, firstByteMs },
    priceVersion: typeof version === 'string' ? wholeVersion(version) : null,
    ...unusual,
    usage,
    ...(receipt === undefined ? {} : { receipt }),
  })
}

/** Whether a detail is of this key; one in short, also of the model and tokens of its row. */
export const isOf = (row: Row, detail: UsageDetail, keyId: KeyId): boolean => {
  const written = textOf(row, 'detail')
  if (!written.startsWith('[')) return detail.keyId === keyId
  const { model, input, output } = columnsOf(row)
  return Number.parseInt(written.slice(1), 10) === checkOf(keyId, model, input, output)
}

/** What the detail `d` has by name, as JSON: all of it or what is not as usual. */
const named = ({ name }: Engine): string => {
  const detail = name === 'postgres' ? 'cast(d.detail as json)' : 'd.detail'
  return `(case when substr(d.detail, 1, 1) = '{' then ${detail}
    when substr(d.detail, length(d.detail) - 1) = '}]' then ${detail}->${UNUSUAL} end)`
}

const memberOf = (engine: Engine, name: string, usual: string): string =>
  `coalesce(${named(engine)}->>'${name}', case when substr(d.detail, 1, 1) = '[' then ${usual} end, '')`

/** The vendor of the detail `d`, or an empty text. */
export const vendorIn = (engine: Engine): string =>
  memberOf(
    engine,
    'vendor',
    engine.name === 'postgres'
      ? `left(d.model, greatest(strpos(d.model, '/') - 1, 0))`
      : `substr(d.model, 1, instr(d.model, '/') - 1)`,
  )

/** How the call of the detail `d` ended, or an empty text. */
export const endedIn = (engine: Engine): string => memberOf(engine, 'ended', `'${USUALLY_ENDED}'`)

/** The value of the tag `name`, a bound text, in the detail `d`; an empty text if it has none. */
export const tagIn = (engine: Engine, name: string): string =>
  `coalesce(${named(engine)}->'tags'->>cast(${name} as text), '')`

/**
 * The sum of numbers in the detail `d` of a posting `t`, each by its path. Only details that speak of a cache are read:
 * to look for the word in the text costs far less.
 */
export const ofCache = (engine: Engine, ...paths: readonly string[]): string => {
  const [find, operator] = engine.name === 'postgres' ? ['strpos', '#>>'] : ['instr', '->>']
  const at = (path: string) =>
    engine.name === 'postgres' ? `'{${path.replaceAll('.', ',')}}'` : `'$.${path}'`
  const numbers = paths.map((path) => `coalesce(cast(${named(engine)}${operator}${at(path)} as bigint), 0)`)
  return `case when t.kind = 'usage' and ${find}(d.detail, '"cache_') > 0 then ${numbers.join(' + ')} else 0 end`
}
