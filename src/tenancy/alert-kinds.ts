/** What alerts can watch, and where they can be told: one row a kind. The page, the acts and the commands read these. */

type AlertKind = {
  /** What it watches, for people. */
  readonly label: string
  /** Which one of several it watches. */
  readonly subject?: 'key' | 'person' | 'sub_wallet' | 'vendor'
  /** Whether an amount is needed, possible (the subject has limits of its own), or none. */
  readonly amount: 'needed' | 'possible' | 'none'
  /** What 100 % is, where there is an amount. */
  readonly of?: string
  /** It is a share of calls of the last minutes. */
  readonly share?: true
  /** Steps that are usual, in percent. */
  readonly steps: readonly number[]
  /** The house has none. */
  readonly notOfHouse?: true
}

const MONTH = 'A month’s spending, in USD'
const usual = [50, 80, 100]

const rows = {
  balance: {
    label: 'Balance of the wallet',
    amount: 'needed',
    of: 'Told when the balance is below its steps, in USD',
    steps: [100],
    notOfHouse: true,
  },
  wallet: { label: 'Spending of all keys', amount: 'possible', of: MONTH, steps: usual },
  key: {
    label: 'Spending of a key and those below it',
    subject: 'key',
    amount: 'possible',
    of: MONTH,
    steps: usual,
  },
  person: {
    label: 'Spending of a person, with their agents',
    subject: 'person',
    amount: 'needed',
    of: MONTH,
    steps: usual,
    notOfHouse: true,
  },
  sub_wallet: {
    label: 'Budget of a sub-wallet',
    subject: 'sub_wallet',
    amount: 'none',
    steps: usual,
    notOfHouse: true,
  },
  vendor: { label: 'Spending at a vendor', subject: 'vendor', amount: 'needed', of: MONTH, steps: usual },
  failures: { label: 'Share of calls that fail', amount: 'none', share: true, steps: [10] },
  cache: { label: 'Share of input tokens that no cache had', amount: 'none', share: true, steps: [80] },
} as const satisfies Readonly<Record<string, AlertKind>>

export type RuleKind = keyof typeof rows

export const alertKinds: Readonly<Record<RuleKind, AlertKind>> = rows
export const ruleKinds = Object.keys(rows) as readonly RuleKind[]

const channels = {
  mail: { label: 'Mail', target: 'Address of somebody in the organisation' },
  slack: { label: 'Slack', target: 'Address of an incoming webhook' },
  teams: { label: 'Microsoft Teams', target: 'Address of a workflow “when a webhook request is received”' },
  discord: { label: 'Discord', target: 'Address of a webhook' },
  pagerduty: { label: 'PagerDuty', target: 'Integration key of the Events API v2' },
  webhook: { label: 'Webhook', target: 'An https address on a public server' },
} as const

export type ChannelKind = keyof typeof channels
export const channelForms: Readonly<
  Record<ChannelKind, { readonly label: string; readonly target: string }>
> = channels
export const channelKinds = Object.keys(channels) as readonly ChannelKind[]
