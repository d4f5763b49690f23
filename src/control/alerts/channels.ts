/** Acts on the channels of alerts: where an organisation, or the house, is told of them. */
import { z } from 'zod'
import { publicHttpsUrl } from '../../core/address.ts'
import { line, namedObject, text } from '../../core/body.ts'
import type { JsonObject } from '../../core/json-body.ts'
import { invalid, Refusal, refuse } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'
import { newIdOf } from '../../core/time.ts'
import { webhookSecret } from '../../gateway/jobs/signed-webhook.ts'
import { type Channel, type Delivery, deliveryStates } from '../../store/alerts/alert-port.ts'
import { type ChannelKind, channelKinds } from '../../tenancy/alert-kinds.ts'
import { type Acting, act } from '../act.ts'
import { orgOf } from '../org-of.ts'
import { normalEmail } from '../people/new-person.ts'
import { count, email, isoOf, name } from '../read.ts'
import { done, time } from '../shown-key.ts'
import { may, reachesAll } from '../who.ts'

const CHANNELS_MAX = 200
const WINDOW_MS = 15 * 60_000
const TESTS_MAX = 10

export const ofOrg = { organisation: name.optional().describe('`house` for the rules of the house itself') }
export const called = line(1, 100, 'must be a name of 1 to 100 characters')

const channelShown = namedObject('AlertChannel', {
  id: z.string(),
  name: z.string(),
  kind: z.enum(channelKinds),
  target: z.string().describe('Where it goes; of addresses and keys that are secret only the end'),
  secret: z
    .string()
    .nullable()
    .describe('What signs a webhook (standardwebhooks.com), for those who may change channels'),
})

const ENDS = 4
const hidden: Readonly<Record<ChannelKind, (target: string) => string>> = {
  mail: (target) => target,
  webhook: (target) => target,
  pagerduty: (target) => `…${target.slice(-ENDS)}`,
  slack: (target) => `${new URL(target).host}/…${target.slice(-ENDS)}`,
  teams: (target) => `${new URL(target).host}/…${target.slice(-ENDS)}`,
  discord: (target) => `${new URL(target).host}/…${target.slice(-ENDS)}`,
}

const shown = ({ control, who }: Acting, { id, name: label, kind, target }: Channel) => ({
  id,
  name: label,
  kind,
  target: hidden[kind](target),
  secret: kind === 'webhook' && may(who, 'rules') ? webhookSecret(control, id) : null,
})

/** Mail goes to people of the organisation: else whoever has one could have us write to anybody. */
const mailTarget = async ({ control, who }: Acting, orgId: string, given: string): Promise<string> => {
  if (control.console !== undefined && control.console.smtp === undefined)
    throw invalid('kind', 'This server sends no mail (SMTP_URL); choose another kind.')
  const address = email.safeParse(given)
  if (!address.success) throw invalid('target', "'target' must be an e-mail address.")
  const to = normalEmail(address.data)
  if (reachesAll(who)) return to
  const people = await control.store.members.list({ orgId })
  if (people.some((person) => person.email === to)) return to
  throw invalid(
    'target',
    "'target' must be the address of somebody in the organisation; invite them first, or ask the operator.",
  )
}

const targetOf = async (acting: Acting, orgId: string, kind: ChannelKind, given: string): Promise<string> => {
  if (kind === 'mail') return mailTarget(acting, orgId, given)
  if (kind === 'pagerduty') {
    if (/^[A-Za-z0-9]{32}$/.test(given)) return given
    throw invalid('target', "'target' must be the integration key of PagerDuty's Events API v2: 32 letters.")
  }
  const url = publicHttpsUrl('target', given)
  if (url instanceof Refusal) throw url
  return url
}

const noSuch = () =>
  refuse(
    'not_found',
    'There is no such channel, or it is not yours. That of a wallet is set with its rules: alert_webhook_url.',
  )

const channelIn = async (acting: Acting, orgId: string, id: string): Promise<Channel> => {
  const found = await acting.control.store.alerts.channels(orgId)
  const channel = found.find((one) => one.id === id)
  if (channel === undefined) throw noSuch()
  return channel
}

export const channelList = act({
  name: 'alert_channel.list',
  summary: 'The channels that alerts can be told to.',
  reads: ['wallet_read'],
  input: ofOrg,
  shows: namedObject('AlertChannelList', { data: z.array(channelShown) }),
  does: async (acting, { organisation }) => {
    const found = await acting.control.store.alerts.channels(orgOf(acting, organisation))
    return { data: found.map((channel) => shown(acting, channel)) }
  },
})

export const channelCreate = act({
  name: 'alert_channel.create',
  summary: 'Makes a channel that alerts can be told to: mail, Slack, Teams, Discord, PagerDuty or a webhook.',
  changes: ['rules'],
  input: {
    ...ofOrg,
    name: called,
    kind: z.enum(channelKinds, `must be one of ${channelKinds.join(', ')}`),
    target: text(1, 2_048, 'must be an address').describe(
      'A mail address, the https address of a webhook, or the integration key of PagerDuty',
    ),
  },
  shows: channelShown,
  does: async (acting, { organisation, name: label, kind, target }) => {
    const { control, who } = acting
    const orgId = orgOf(acting, organisation)
    const to = await targetOf(acting, orgId, kind, target)
    if ((await control.store.alerts.channels(orgId)).length >= CHANNELS_MAX)
      throw refuse('forbidden', `There are ${CHANNELS_MAX} channels; delete one that nobody needs.`)
    const id = newIdOf('chan')
    const channel = { id, orgId, name: storable(label), kind, target: to }
    await control.store.alerts.makeChannel(channel, who.actor)
    return shown(acting, channel)
  },
})

export const channelDelete = act({
  name: 'alert_channel.delete',
  summary: 'Deletes a channel; what still waits to be sent to it is not sent.',
  changes: ['rules'],
  input: { ...ofOrg, channel: name },
  shows: done,
  does: async (acting, { organisation, channel: id }) => {
    const { control, who } = acting
    const orgId = orgOf(acting, organisation)
    if (!(await control.store.alerts.deleteChannel({ orgId, id }, who.actor))) throw noSuch()
    return { done: true as const }
  },
})

export const channelTest = act({
  name: 'alert_channel.test',
  summary: 'Sends a test to a channel; what comes of it stands in the log of deliveries.',
  changes: ['rules'],
  input: { ...ofOrg, channel: name },
  shows: done,
  does: async (acting, { organisation, channel: id }) => {
    const { control, who } = acting
    const channel = await channelIn(acting, orgOf(acting, organisation), id)
    if ((await control.store.members.attempt(`alert test ${id}`, WINDOW_MS)) > TESTS_MAX)
      throw refuse(
        'rate_limit_exceeded',
        `A channel is tested ${TESTS_MAX} times a quarter of an hour at most.`,
      )
    const message: JsonObject = {
      title: 'Test of an alert',
      text: `${who.actor.name} asked Turnpike to send this to the channel ${channel.name}.`,
      severity: 'info',
    }
    await control.store.alerts.testChannel(channel, message, who.actor)
    return { done: true as const }
  },
})

const deliveryShown = namedObject('AlertDelivery', {
  id: z.string(),
  channel: z.string().describe('The id of the channel'),
  what: z.enum(['reached', 'resolved', 'test']),
  title: z.string(),
  text: z.string(),
  state: z.enum(deliveryStates),
  tries: z.int(),
  at: time,
  sent_at: time.nullable(),
  error: z.string().nullable().describe('Of the last try, if it failed'),
})

const deliveryOf = ({ message, channelId, sentAt, error, at, id, what, state, tries }: Delivery) => ({
  id,
  channel: channelId,
  what,
  title: String(message.title),
  text: String(message.text),
  state,
  tries,
  at: isoOf(at),
  sent_at: sentAt === undefined ? null : isoOf(sentAt),
  error: error ?? null,
})

export const deliveryList = act({
  name: 'alert_delivery.list',
  summary: 'What was told to channels, newest first; kept a month.',
  reads: ['wallet_read'],
  input: {
    ...ofOrg,
    before: name.optional().describe('The `id` of the last one before'),
    limit: count(1, 1_000),
  },
  shows: namedObject('AlertDeliveryList', { data: z.array(deliveryShown), has_more: z.boolean() }),
  does: async (acting, { organisation, before, limit = 100 }) => {
    const orgId = orgOf(acting, organisation)
    const page = { orgId, most: limit + 1, ...(before === undefined ? {} : { before }) }
    const found = await acting.control.store.alerts.deliveries(page)
    return { data: found.slice(0, limit).map(deliveryOf), has_more: found.length > limit }
  },
})
