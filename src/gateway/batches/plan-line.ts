/** What a line asks for, and the most that it can cost: the same before the batch begins and when the line is sent. */
import { type Ceiling, lowerOf } from '../../admission/ceiling.ts'
import type { Call } from '../../core/call.ts'
import { bodyOf, type JsonBody, readJsonBody } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import type { Nano } from '../../core/money.ts'
import { invalid, must, Refusal, refuse } from '../../core/refusal.ts'
import type { AskedOfBatch, BatchForm } from '../../store/batches/batch-port.ts'
import { timeOf } from '../../store/months/call-ids.ts'
import { NO_CONDITIONS, together } from '../../tenancy/conditions.ts'
import type { Key } from '../../tenancy/key.ts'
import { tagsOfPath } from '../../tenancy/tags.ts'
import type { WalletRules } from '../../tenancy/wallet-rules.ts'
import { codecOf } from '../ask/ask-vendor.ts'
import { withOwnKeys } from '../ask/own-call.ts'
import { pathTags } from '../call/run-call.ts'
import { tagsOfCall } from '../enter/call-tags.ts'
import { underConditions } from '../enter/conditions.ts'
import { boundSent, readCall } from '../enter/incoming.ts'
import { isGuarded, notGuarded, rulesFor } from '../enter/rules.ts'
import { type Plan, planCall } from '../hold/reserve.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'
import { forms } from './forms.ts'
import { openPlaceOf, partPlaceOf, routeOf, soldOn } from './part-place.ts'

type OfBatch = { readonly form: BatchForm; readonly asked: AskedOfBatch; readonly key: Key }

type Line = {
  readonly n: number
  readonly bytes: Uint8Array
  readonly trace: Trace
  /** The way that it goes; absent while that is not decided. */
  readonly route?: string
  /** What is held for it; absent while nothing is. */
  readonly bound?: Nano
  /** It was run already: what its key may do now does not matter. */
  readonly answered?: boolean
}

export type PlannedLine = {
  readonly customId: string
  readonly body: JsonBody
  readonly call: Call
  /** At its price in batches, if the vendor runs the line in one; as own keys of its organisation run it, if it has some. */
  readonly model: Model
  readonly ceiling: Ceiling
  readonly plan: Plan
  readonly outputBound: number | undefined
  readonly route: string
  /** Where its vendor takes no few lines: how many it takes, and what is held if the line is run here after all. */
  readonly few?: { readonly least: number; readonly bound: () => Nano }
}

/** Members that name what only a call of its own can have. */
const alone = ['background', 'previous_response_id', 'conversation'] as const

/**
 * A batch has one lease for all its lines, so none may be for a tag's value with a budget, of its own or by default: only the
 * month of a team is the same for all. Throws the Refusal of one that is.
 */
const boundByNoBudget = async (
  { store }: Gateway,
  { walletId }: Key,
  trace: Trace,
  rules: Pick<WalletRules, 'budgeted'>,
): Promise<void> => {
  const path = pathTags(trace, rules, undefined)
  for (const [tag, value] of path === undefined ? [] : tagsOfPath(path)) {
    const its = await Promise.all(
      [value, ''].map((one) => store.tagBudgets.tagBudget({ walletId, tag, value: one })),
    )
    if (its.some((one) => one !== undefined))
      throw invalid(
        'tags',
        `The line is for ${tag}=${value}, which has a budget, and lines of a batch cannot count under one: send it as a call of its own.`,
      )
  }
}

/** Of how vendors handle their own batches nothing is known, so lines with conditions are run here. */
const notHandedOn = ({ conditions }: Trace): Refusal =>
  refuse(
    'conditions_not_met',
    'Conditions were set after the batch began, and its vendor runs this line in a batch of its own: send it again.',
    { members: { conditions: conditions?.join(',') ?? '' } },
  )

/** The way of lines that own keys of their organisation answer: it names no model, so they are run here; they are held at the fee. */
const OWN = ' own'

/** What was held for the line is for whoever had keys when the batch began, so nobody else's may answer it. */
const keysChanged = ({ vendor }: Model): Refusal =>
  refuse(
    'own_keys_not_carried',
    `Your organisation's own keys at ${vendor} changed after the batch began, and the line was priced as they were: send it again. The house's key was not asked.`,
    { members: { provider: vendor } },
  )

/** Whether own keys of the organisation answer the line. Throws the Refusal of one that was priced for other keys. */
const byOwnKeys = ({ ownKeys }: WalletRules, model: Model, { route }: Line): boolean => {
  const own = ownKeys?.[model.vendor] !== undefined
  const before = route === undefined || (route === '' && own) ? own : route === OWN
  if (before !== own) throw keysChanged(model)
  return own
}

/** Reads and prices a line. Throws the Refusal of what is wrong. */
export const planLine = async (gateway: Gateway, it: OfBatch, line: Line): Promise<PlannedLine> => {
  const { form, asked, key } = it
  const { readLine, decode } = forms[form]
  const { n, trace } = line
  const read = must(readLine(must(readJsonBody(line.bytes)).value, n, asked))
  const named = alone.find((name) => (read.body[name] ?? false) !== false)
  if (named !== undefined) throw invalid(named, `'${named}' cannot be in a batch: leave it out.`)
  const body = bodyOf(read.body)
  const { call, model } = readCall(
    soldOn(gateway, line.route ?? '', line.answered === true ? timeOf(trace.callId) : undefined),
    { decode: (sent, modelNamed) => decode(sent, asked, modelNamed) },
    { key, trace },
    body,
  )
  if (call.stream) throw invalid('stream', "A line is answered whole: leave 'stream' out.")
  const asking = { ...key, requires: together(key.requires, asked.requires) }
  const rules: WalletRules = line.answered === true ? {} : must(await rulesFor(gateway, asking, model, trace))
  if (line.answered !== true && isGuarded(key, rules))
    throw notGuarded('lines of a batch are not looked into: send each as a call of its own')
  const own = byOwnKeys(rules, model, line)
  const isBound = trace.conditions !== undefined && trace.conditions !== NO_CONDITIONS
  if (isBound) underConditions({ body, call, model }, trace)
  if (isBound && line.route !== undefined && line.route !== '') throw notHandedOn(trace)
  trace.tags = tagsOfCall({ key, header: undefined, body: read.body })
  await boundByNoBudget(gateway, key, trace, rules)
  const ceiling = lowerOf(undefined, rules.perCallMax)
  const planAs = (sold: Model, route: string): PlannedLine => {
    const plan = must(planCall(gateway, { call, model: sold, ceiling }, sold.maxOutputTokens))
    const lowered = call.kind === 'chat' && call.maxOutput === undefined && plan.output < sold.maxOutputTokens
    const outputBound = boundSent(call, lowered ? plan.output : undefined, trace)
    return { customId: read.customId, body, call, model: sold, ceiling, plan, outputBound, route }
  }
  if (own) {
    const planned = planAs((await withOwnKeys(gateway, { key, model, call }, rules.ownKeys)).model, OWN)
    if (line.bound !== undefined && planned.plan.amount > line.bound) throw keysChanged(model)
    return planned
  }
  const placeOf = line.answered === true ? partPlaceOf : openPlaceOf
  const place = isBound || line.route === '' ? undefined : placeOf(gateway, model)
  const [at] = place?.deployments ?? []
  if (place === undefined || at === undefined) return planAs(model, line.route ?? '')
  const planned = planAs(place.model, line.route ?? '')
  if (line.route !== undefined) return planned
  const few = (least: number | undefined): Pick<PlannedLine, 'few'> =>
    least === undefined ? {} : { few: { least, bound: () => planAs(model, '').plan.amount } }
  // What the vendor's batches cannot express is run here.
  const codec = codecOf(at, gateway, { ...planned, key, trace })
  return codec instanceof Refusal || !place.form.takes(codec.path)
    ? planAs(model, '')
    : { ...planned, route: routeOf(model, codec.path), ...few(place.form.callsLeast) }
}
