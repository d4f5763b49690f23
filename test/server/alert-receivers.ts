/**
 * Receivers of alerts that are as strict as the public references of Slack, Discord, Teams (workflows), PagerDuty (Events API
 * v2) and standardwebhooks.com say: they answer 400 to another form, and this remembers what they took.
 */
import { z } from 'zod'
import type { PublicParts } from '../../src/transport/public-address.ts'

export type Got = {
  readonly host: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly body: { readonly type?: string; readonly data?: Readonly<Record<string, unknown>> } & Readonly<
    Record<string, unknown>
  >
}

const textBlock = z.strictObject({
  type: z.literal('TextBlock'),
  text: z.string().min(1),
  weight: z.enum(['Default', 'Lighter', 'Bolder']).optional(),
  wrap: z.boolean().optional(),
})
const card = z.strictObject({
  $schema: z.literal('http://adaptivecards.io/schemas/adaptive-card.json'),
  type: z.literal('AdaptiveCard'),
  version: z.string().regex(/^1\.[0-5]$/),
  body: z.array(textBlock).min(1),
})
const key = { routing_key: z.string().length(32), dedup_key: z.string().min(1).max(255) }
const trigger = z.strictObject({
  ...key,
  event_action: z.literal('trigger'),
  client: z.string().optional(),
  client_url: z.url().optional(),
  payload: z.strictObject({
    summary: z.string().min(1).max(1_024),
    source: z.string().min(1),
    severity: z.enum(['critical', 'error', 'warning', 'info']),
    timestamp: z.iso.datetime().optional(),
    component: z.string().optional(),
    group: z.string().optional(),
    class: z.string().optional(),
    custom_details: z.record(z.string(), z.unknown()).optional(),
  }),
})
const resolve = z.strictObject({ ...key, event_action: z.enum(['resolve', 'acknowledge']) })

/** By host: the form that it takes, and what it answers to it. */
const hosts: Readonly<Record<string, { readonly form: z.ZodType; readonly status: number }>> = {
  'hooks.slack.com': {
    // Slack's own marks must be escaped: & < >.
    form: z.strictObject({ text: z.string().regex(/^(?:[^<>&]|&(?:amp|lt|gt);)+$/) }),
    status: 200,
  },
  'discord.com': {
    form: z.strictObject({
      content: z.string().min(1).max(2_000),
      allowed_mentions: z.strictObject({ parse: z.array(z.never()) }),
    }),
    status: 204,
  },
  'prod-1.westeurope.logic.azure.com': {
    form: z.strictObject({
      type: z.literal('message'),
      attachments: z
        .array(
          z.strictObject({
            contentType: z.literal('application/vnd.microsoft.card.adaptive'),
            contentUrl: z.null(),
            content: card,
          }),
        )
        .length(1),
    }),
    status: 202,
  },
  'events.pagerduty.com': { form: z.union([trigger, resolve]), status: 202 },
  'ours.example.com': {
    form: z.strictObject({
      type: z.enum(['alert.reached', 'alert.resolved', 'alert.test']),
      timestamp: z.iso.datetime(),
      data: z.looseObject({ alert: z.string(), title: z.string(), text: z.string() }),
    }),
    status: 204,
  },
}

/** All are at a public address; a message in another form is answered by 400. */
export const receivers = (): { readonly got: Got[]; readonly parts: PublicParts } => {
  const got: Got[] = []
  const fetch: PublicParts['fetch'] = async (url, init) => {
    const headers = Object.fromEntries(new Headers(init.headers as Record<string, string>))
    const host = headers.host ?? ''
    const text = String(init.body)
    const { pathname } = new URL(url)
    const known = hosts[host]
    const read = known?.form.safeParse(JSON.parse(text))
    if (known === undefined || read?.success !== true)
      throw new Error(`${host} does not take ${text}: ${read?.error}`)
    got.push({ host, headers, text, body: JSON.parse(text) })
    return new Response(null, { status: pathname === '/fails' ? 500 : known.status })
  }
  return { got, parts: { resolve: async () => ['93.184.215.14'], fetch } }
}
