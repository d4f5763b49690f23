/** Looks at the rules of alerts and sends what they tell, until it is stopped. Several servers may do it at once. */
import type { Log } from '../../core/log.ts'
import { messageOf } from '../../core/message-of.ts'
import type { Clock } from '../../core/time.ts'
import type { Meters } from '../../metrics/meters.ts'
import type { DueDelivery } from '../../store/alerts/alert-port.ts'
import type { Store } from '../../store/port.ts'
import { sendMail } from '../../transport/mail.ts'
import type { PublicParts } from '../../transport/public-address.ts'
import { sendSigned } from '../jobs/signed-webhook.ts'
import type { ConsoleSettings, Gateway } from '../parts/gateway.ts'
import { linesOf, requestOf } from './channel-forms.ts'
import { reachedNow } from './measure.ts'

export type Watching = {
  readonly store: Pick<Store, 'alerts' | 'funding' | 'reports' | 'subWallets' | 'wallets'>
  readonly clock: Clock
  readonly log: Log
  readonly hash: Gateway['hash']
  readonly webhooks: PublicParts
  readonly meters?: Meters | undefined
  readonly console?: ConsoleSettings | undefined
}

const EVERY_MS = 5_000
const ROLL_UP_EVERY_MS = 600_000
/** Rules in one look, and messages that may be under way. */
const RULES = 50
const AT_ONCE = 50

/** Looks at the rules that are due. One that cannot be read keeps no other waiting. */
export const lookAtRules = async ({ store, clock, log }: Watching): Promise<void> => {
  for (const rule of await store.alerts.takeRules(RULES)) {
    try {
      await store.alerts.noteReached(rule.id, await reachedNow(store, rule, clock.now()))
    } catch (error) {
      log.warn('an alert could not be looked at', { kind: rule.kind, error: messageOf(error) })
    }
  }
}

const bySmtp = async ({ console: settings }: Watching, delivery: DueDelivery): Promise<void> => {
  const { smtp, mailFrom = '' } = settings ?? {}
  if (smtp === undefined) throw new Error('this server sends no mail (SMTP_URL)')
  const { head, text } = linesOf(delivery)
  const letter = { to: delivery.channel.target, subject: `Alert: ${head}`, text: `${text}\n` }
  await sendMail({ smtp, mailFrom }, { ...letter, messageId: `<${delivery.id}@turnpike>` })
}

const byHttps = (parts: Watching, delivery: DueDelivery): Promise<void> => {
  const { url, body } = requestOf(delivery)
  const timestamp = String(Math.floor(parts.clock.now() / 1000))
  const signed = { walletId: delivery.channelId, id: delivery.id, timestamp, body: JSON.stringify(body) }
  return sendSigned(parts, { kind: 'alert', url, ...signed })
}

const deliver = async (parts: Watching, delivery: DueDelivery): Promise<void> => {
  const { alerts } = parts.store
  try {
    await (delivery.channel.kind === 'mail' ? bySmtp : byHttps)(parts, delivery)
    await alerts.delivered(delivery.id)
  } catch (error) {
    parts.log.warn('an alert was not accepted', { kind: delivery.channel.kind, error: messageOf(error) })
    await alerts.delivered(delivery.id, messageOf(error)).catch(() => undefined)
  }
}

/** Begins to send what is due, at most so many. */
export const sendDue = async (parts: Watching, most = AT_ONCE): Promise<readonly Promise<void>[]> =>
  most <= 0 ? [] : (await parts.store.alerts.takeDeliveries(most)).map((one) => deliver(parts, one))

/** Nobody waits for a receiver that does not answer. */
export const keepWatching = (parts: Watching, random: () => number): (() => void) => {
  const { clock, log, store } = parts
  let stopped = false
  let underWay = 0
  let rolledAt = Number.NEGATIVE_INFINITY
  const look = async (): Promise<void> => {
    await lookAtRules(parts)
    for (const sending of await sendDue(parts, AT_ONCE - underWay)) {
      underWay++
      void sending.finally(() => {
        underWay--
      })
    }
  }
  /** Else rules would sum the calls of a whole month again and again where nobody looks at the console. */
  const rollUp = async (): Promise<void> => {
    if (clock.monotonicMs() - rolledAt < ROLL_UP_EVERY_MS) return
    rolledAt = clock.monotonicMs()
    await store.reports.rollUp()
  }
  const run = async (): Promise<void> => {
    while (!stopped) {
      await clock.sleep(EVERY_MS * (0.5 + random()))
      if (stopped) return
      try {
        await rollUp()
        await look()
      } catch (error) {
        log.warn('alerts could not be looked at', { error: messageOf(error) })
      }
    }
  }
  void run()
  return () => {
    stopped = true
  }
}
