/** The store's port for alerts: rules, the channels that they tell, the steps that were reached, and what was sent. */
import type { JsonObject } from '../../core/json-body.ts'
import type { Nano } from '../../core/money.ts'
import type { Instant } from '../../core/time.ts'
import type { ChannelKind, RuleKind } from '../../tenancy/alert-kinds.ts'
import type { Actor } from '../people/event-port.ts'

/** The organisation under which the rules of the house itself stand. */
export const HOUSE = 'house'

export type Channel = {
  readonly id: string
  readonly orgId: string
  readonly name: string
  readonly kind: ChannelKind
  /** A mail address, a public https address, or the routing key of PagerDuty. */
  readonly target: string
}

/** The step of a forecast, among percents. */
export const FORECAST = 0
/** The step of top-ups that wait for their owner, which each rule of a balance has. */
export const PAUSED = -1

export type Rule = {
  readonly id: string
  readonly orgId: string
  readonly name: string
  readonly kind: RuleKind
  /** The id of what it watches, for kinds that watch one of several. The rule that a wallet's own rules ask for has its id, and watches it. */
  readonly subject?: string
  /** What 100 % is, if it is not a limit that the subject has. */
  readonly amount?: Nano
  /** Percents, in ascending order; `FORECAST` is that the month is forecast to reach 100. */
  readonly steps: readonly number[]
  /** Ids; of those that were deleted meanwhile nothing is told. */
  readonly channels: readonly string[]
  /** How far back shares look. */
  readonly minutes?: number
}

/** A step that is reached now. */
export type Reached = {
  /** What it is reached in: a step is told once in a period. */
  readonly period: string
  readonly step: number
  readonly endsAt?: Instant
  /** It may be reached again after it was not, and stays one alert from period to period until then. */
  readonly lasting?: true
  readonly message: JsonObject
}

export type OpenAlert = { readonly period: string; readonly step: number; readonly at: Instant }

export const deliveryStates = ['due', 'sent', 'given_up'] as const

export type Delivery = {
  readonly id: string
  /** The same for all that is told of one step in one period. */
  readonly alertId: string
  readonly channelId: string
  readonly what: 'reached' | 'resolved' | 'test'
  readonly message: JsonObject
  readonly state: (typeof deliveryStates)[number]
  readonly tries: number
  readonly at: Instant
  readonly sentAt?: Instant
  /** Of the last try that failed. */
  readonly error?: string
}

export type DueDelivery = Delivery & { readonly channel: Channel }

export type AlertBook = {
  channels(orgId: string): Promise<readonly Channel[]>
  makeChannel(channel: Channel, by: Actor): Promise<void>
  /** False if there is none, or it is a wallet's. What waits to be sent to it is not sent. */
  deleteChannel(of: { readonly orgId: string; readonly id: string }, by: Actor): Promise<boolean>
  rules(orgId: string): Promise<readonly (Rule & { readonly open: readonly OpenAlert[] })[]>
  /** Makes or replaces it; it is looked at at once. */
  putRule(rule: Rule, by: Actor): Promise<void>
  /** False if there is none, or it is a wallet's. What is open is resolved. */
  deleteRule(of: { readonly orgId: string; readonly id: string }, by: Actor): Promise<boolean>
  /** Rules to look at now, each given to one caller; the same one again only later. */
  takeRules(most: number): Promise<readonly Rule[]>
  /**
   * Notes what is reached now, from mild to severe, and resolves what is not. Of the steps that are new the last one is told
   * to the rule's channels; nothing happens for a rule that is gone.
   */
  noteReached(ruleId: string, reached: readonly Reached[]): Promise<void>
  /** Sends a test to a channel, with an event. */
  testChannel(channel: Channel, message: JsonObject, by: Actor): Promise<string>
  /** Newest first. */
  deliveries(of: {
    readonly orgId: string
    readonly before?: string
    readonly most: number
  }): Promise<readonly Delivery[]>
  /** Messages to send now, each given to one caller; those without a confirmation come again, later each time, and end. */
  takeDeliveries(most: number): Promise<readonly DueDelivery[]>
  /** It was sent, or why not. */
  delivered(id: string, error?: string): Promise<void>
  /** Calls since then that failed with a status of 500 and above, of which the journal of failures has a row. */
  failedSince(orgs: readonly string[] | 'all', from: Instant): Promise<number>
}
