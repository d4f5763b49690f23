/** Acts on the rules of alerts: what an organisation, or the house, wants to be told of, and where. */
import { z } from 'zod'
import { amount, namedObject } from '../../core/body.ts'
import { NANO_PER_USD } from '../../core/money.ts'
import { invalid, refuse } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'
import { newIdOf } from '../../core/time.ts'
import { FORECAST, HOUSE, type OpenAlert, type Rule } from '../../store/alerts/alert-port.ts'
import { alertKinds, ruleKinds } from '../../tenancy/alert-kinds.ts'
import { type Acting, act } from '../act.ts'
import { keyNamed } from '../key-named.ts'
import { orgOf, walletOf } from '../org-of.ts'
import { isoOf, name } from '../read.ts'
import { done, time, usd } from '../shown-key.ts'
import { called, ofOrg } from './channels.ts'

const RULES_MAX = 1_000
const AMOUNT_MAX = 1_000_000_000n * NANO_PER_USD
const STEPS_MAX = 10
const STEP_MOST = 1_000
const DAY_MINUTES = 1_440

const stepForm = `must be a list of 1 to ${STEPS_MAX} percents from 1 to ${STEP_MOST}`

const ruleMembers = {
  name: called,
  kind: z.enum(ruleKinds, `must be one of ${ruleKinds.join(', ')}`),
  subject: name
    .nullable()
    .optional()
    .describe('The key, person, sub-wallet or vendor, for kinds that watch one'),
  amount_usd: amount('must be a number of USD')
    .refine((nano) => nano > 0n && nano <= AMOUNT_MAX, 'must be above 0 and at most 1000000000')
    .nullable()
    .optional()
    .describe(
      'What 100 % is: of spending in a UTC month, or of the balance; null for limits of the subject itself',
    ),
  steps: z
    .array(z.int(stepForm).min(1, stepForm).max(STEP_MOST, stepForm), stepForm)
    .min(1, stepForm)
    .max(STEPS_MAX, stepForm)
    .describe('Percents at which it is told, each once in a period'),
  forecast: z.boolean().optional().describe('Also when the month is forecast to reach the amount'),
  minutes: z
    .int()
    .min(5, 'must be from 5 to 1440')
    .max(DAY_MINUTES, 'must be from 5 to 1440')
    .nullable()
    .optional()
    .describe('How far shares of failures and of cache misses look back; an hour if absent'),
  channels: z
    .array(name, 'must be a list of ids of channels')
    .max(20, 'must be a list of at most 20 ids of channels')
    .describe('The channels that it is told to; without one it is only shown'),
}

const alertShown = namedObject('Alert', {
  id: z.string(),
  name: z.string(),
  kind: z.enum(ruleKinds),
  subject: z.string().nullable(),
  amount_usd: usd.nullable(),
  steps: z.array(z.int()),
  forecast: z.boolean(),
  minutes: z.int().nullable(),
  channels: z.array(z.string()),
  open: z.array(
    z.object({
      step: z.int().describe('0 for the forecast, -1 for top-ups that are paused'),
      period: z.string(),
      at: time,
    }),
  ),
})

const shown = ({ open, ...rule }: Rule & { readonly open: readonly OpenAlert[] }) => ({
  id: rule.id,
  name: rule.name,
  kind: rule.kind,
  subject: rule.subject ?? null,
  amount_usd: rule.amount ?? null,
  steps: rule.steps.filter((step) => step !== FORECAST),
  forecast: rule.steps.includes(FORECAST),
  minutes: rule.minutes ?? null,
  channels: [...rule.channels],
  open: open.map(({ step, period, at }) => ({ step, period, at: isoOf(at) })),
})

type Wanted = z.output<z.ZodObject<typeof ruleMembers>>

/** Throws unless there is such a subject in the organisation. */
const checkSubject = async (
  acting: Acting,
  orgId: string,
  kind: Wanted['kind'],
  id: string,
): Promise<void> => {
  const { store } = acting.control
  const lacks = (what: string) => invalid('subject', `'subject' must be the id of ${what}.`)
  const { subject } = alertKinds[kind]
  if (subject === 'key') {
    const { key } = await keyNamed(acting, id, 'read')
    if (orgId !== HOUSE && key.orgId !== orgId) throw lacks('a key of the organisation')
  }
  if (subject === 'person' && !(await store.members.list({ orgId })).some((one) => one.personId === id))
    throw lacks('a person of the organisation')
  if (subject !== 'sub_wallet') return
  const walletId = await walletOf(acting.control, orgId)
  if ((await store.subWallets.subWallet({ walletId }, id)) === undefined)
    throw lacks('a sub-wallet of the wallet')
}

const ofHouse = ruleKinds.filter((kind) => alertKinds[kind].notOfHouse !== true)

const checkForm = (orgId: string, wanted: Wanted): void => {
  const { kind, subject, amount_usd: most, minutes, forecast, steps } = wanted
  const row = alertKinds[kind]
  if (orgId === HOUSE && !ofHouse.includes(kind))
    throw invalid('kind', `The house has none of these; for it 'kind' is one of ${ofHouse.join(', ')}.`)
  const wants = (member: string, holds: boolean, need: boolean) => {
    if (holds !== need)
      throw invalid(member, `'${member}' ${need ? 'is required' : 'is not taken'} for the kind '${kind}'.`)
  }
  wants('subject', subject != null, row.subject !== undefined)
  if (row.amount !== 'possible') wants('amount_usd', most != null, row.amount === 'needed')
  else if (orgId === HOUSE && kind === 'wallet') wants('amount_usd', most != null, true)
  if (row.share === undefined) wants('minutes', minutes != null, false)
  if (row.share === true && steps.some((step) => step > 100))
    throw invalid('steps', "'steps' of a share must be from 1 to 100.")
  if (forecast === true && (most == null || kind === 'balance'))
    throw invalid('forecast', "'forecast' is of a month's spending: it needs 'amount_usd'.")
}

/** The rule of a body; throws what is wrong with it. */
const ruleOf = async (acting: Acting, orgId: string, id: string, wanted: Wanted): Promise<Rule> => {
  checkForm(orgId, wanted)
  const { subject, amount_usd: most, minutes, forecast, steps, kind, channels } = wanted
  if (subject != null) await checkSubject(acting, orgId, kind, subject)
  const known = (await acting.control.store.alerts.channels(orgId)).map((channel) => channel.id)
  const strange = channels.find((channel) => !known.includes(channel))
  if (strange !== undefined) throw invalid('channels', `'channels' names '${strange}', which is no channel.`)
  const all = [...(forecast === true ? [FORECAST] : []), ...steps]
  return {
    id,
    orgId,
    name: storable(wanted.name),
    kind,
    steps: [...new Set(all)].sort((a, b) => a - b),
    channels: [...new Set(channels)],
    ...(subject == null ? {} : { subject }),
    ...(most == null ? {} : { amount: most }),
    ...(minutes == null ? {} : { minutes }),
  }
}

const noSuch = () =>
  refuse(
    'not_found',
    'There is no such alert, or it is not yours. That of a wallet is set with its rules: alert_below_usd, alert_webhook_url.',
  )

export const alertList = act({
  name: 'alert.list',
  summary: 'The alerts of the organisation, with the steps that are reached now.',
  reads: ['wallet_read'],
  input: ofOrg,
  shows: namedObject('AlertList', { data: z.array(alertShown) }),
  does: async (acting, { organisation }) => {
    const found = await acting.control.store.alerts.rules(orgOf(acting, organisation))
    return { data: found.map(shown) }
  },
})

export const alertCreate = act({
  name: 'alert.create',
  summary: 'Makes an alert: what is watched, at which steps, and which channels are told.',
  changes: ['rules'],
  input: { ...ofOrg, ...ruleMembers },
  shows: alertShown,
  does: async (acting, { organisation, ...wanted }) => {
    const { control, who } = acting
    const orgId = orgOf(acting, organisation)
    const id = newIdOf('alert')
    const rule = await ruleOf(acting, orgId, id, wanted)
    if ((await control.store.alerts.rules(orgId)).length >= RULES_MAX)
      throw refuse('forbidden', `There are ${RULES_MAX} alerts; delete one that nobody needs.`)
    await control.store.alerts.putRule(rule, who.actor)
    return shown({ ...rule, open: [] })
  },
})

export const alertChange = act({
  name: 'alert.change',
  summary: 'Replaces an alert; steps that are open and not reached any more are resolved.',
  changes: ['rules'],
  input: { ...ofOrg, alert: name, ...ruleMembers },
  shows: alertShown,
  does: async (acting, { organisation, alert: id, ...wanted }) => {
    const { control, who } = acting
    const orgId = orgOf(acting, organisation)
    const before = (await control.store.alerts.rules(orgId)).find((one) => one.id === id)
    if (before === undefined || before.subject === id) throw noSuch()
    const rule = await ruleOf(acting, orgId, id, wanted)
    await control.store.alerts.putRule(rule, who.actor)
    return shown({ ...rule, open: before.open })
  },
})

export const alertDelete = act({
  name: 'alert.delete',
  summary: 'Deletes an alert; what is open is resolved.',
  changes: ['rules'],
  input: { ...ofOrg, alert: name },
  shows: done,
  does: async (acting, { organisation, alert: id }) => {
    const { control, who } = acting
    const orgId = orgOf(acting, organisation)
    if (!(await control.store.alerts.deleteRule({ orgId, id }, who.actor))) throw noSuch()
    return { done: true as const }
  },
})
