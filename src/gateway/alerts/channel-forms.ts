/**
 * The form that each channel takes a message in. Sources: docs.slack.dev (sending messages using incoming webhooks),
 * discord.com/developers (execute webhook), learn.microsoft.com (Teams: workflows take a message with an adaptive card),
 * developer.pagerduty.com (Events API v2), standardwebhooks.com.
 */
import type { JsonObject } from '../../core/json-body.ts'
import { type DueDelivery, PAUSED } from '../../store/alerts/alert-port.ts'
import type { ChannelKind } from '../../tenancy/alert-kinds.ts'

/** What is said of it, as lines for people. */
export const linesOf = ({ what, message }: Pick<DueDelivery, 'what' | 'message'>) => {
  const { title, text } = message
  const head = what === 'resolved' ? `Resolved: ${title}` : String(title)
  return { head, text: String(text) }
}

const PAGERDUTY = 'https://events.pagerduty.com/v2/enqueue'
/** Lengths that Discord and PagerDuty take. */
const DISCORD_MAX = 2_000
const SUMMARY_MAX = 1_024

/** Slack reads three characters as its own marks. */
const forSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const card = (head: string, text: string): JsonObject => ({
  $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
  type: 'AdaptiveCard',
  version: '1.2',
  body: [
    { type: 'TextBlock', text: head, weight: 'Bolder', wrap: true },
    { type: 'TextBlock', text, wrap: true },
  ],
})

/** An event of PagerDuty: all that is told of one step in one period has one key, and resolves with it. */
const pagerDutyEvent = (delivery: DueDelivery, head: string, text: string): JsonObject => {
  const key = { routing_key: delivery.channel.target, dedup_key: delivery.alertId }
  if (delivery.what === 'resolved') return { ...key, event_action: 'resolve' }
  return {
    ...key,
    event_action: 'trigger',
    client: 'Turnpike',
    payload: {
      summary: `${head}: ${text}`.slice(0, SUMMARY_MAX),
      source: 'turnpike',
      severity: delivery.message.severity ?? 'info',
      timestamp: new Date(delivery.at).toISOString(),
      class: delivery.what === 'test' ? 'test' : (delivery.message.kind ?? 'alert'),
      custom_details: delivery.message,
    },
  }
}

/** What the webhook of a wallet's own rules is told, in the form that it had before there were other alerts. */
const walletEvent = ({ step, wallet, used, limit, reason = null }: JsonObject): JsonObject => ({
  type: step === PAUSED ? 'wallet.top_up_paused' : 'wallet.below',
  data: {
    wallet_id: wallet ?? null,
    balance_usd: Number(used),
    ...(step === PAUSED ? { reason } : { alert_below_usd: Number(limit) }),
  },
})

/** The address and the body of a message; mail goes another way. */
export const requestOf = (delivery: DueDelivery): { readonly url: string; readonly body: JsonObject } => {
  const { channel, what, message } = delivery
  const { head, text } = linesOf(delivery)
  const forms: Readonly<Record<Exclude<ChannelKind, 'mail'>, () => JsonObject>> = {
    slack: () => ({ text: forSlack(`${head}\n${text}`) }),
    discord: () => ({ content: `${head}\n${text}`.slice(0, DISCORD_MAX), allowed_mentions: { parse: [] } }),
    teams: () => ({
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          contentUrl: null,
          content: card(head, text),
        },
      ],
    }),
    pagerduty: () => pagerDutyEvent(delivery, head, text),
    webhook: () => ({
      timestamp: new Date(delivery.at).toISOString(),
      ...(message.wallet === channel.id
        ? walletEvent(message)
        : { type: `alert.${what}`, data: { alert: delivery.alertId, ...message } }),
    }),
  }
  const url = channel.kind === 'pagerduty' ? PAGERDUTY : channel.target
  return { url, body: channel.kind === 'mail' ? {} : forms[channel.kind]() }
}
