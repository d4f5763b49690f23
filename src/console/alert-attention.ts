/** What of alerts needs attention: steps that are reached, and alerts that would tell nobody. */
import {
  type Channel,
  type Delivery,
  FORECAST,
  type OpenAlert,
  PAUSED,
  type Rule,
} from '../store/alerts/alert-port.ts'
import type { Within } from './here.ts'
import type { OverviewShown } from './schema/reports.ts'

type Attention = OverviewShown['attention'][number]
type Watched = Rule & { readonly open: readonly OpenAlert[] }

const NEWEST = 20

const reachedStep = (step: number): string =>
  step === PAUSED ? 'paused top-ups' : step === FORECAST ? 'its forecast' : `${step} %`

const ofRule = (rule: Watched, channels: readonly Channel[]): readonly Attention[] => {
  const worst = rule.open.at(-1)
  const reached = worst === undefined ? '' : reachedStep(worst.step)
  const to = rule.subject === rule.id ? '/rules' : '/alerts'
  return [
    ...(worst === undefined
      ? []
      : [{ kind: 'alert', text: `Alert: ${rule.name} reached ${reached}.`, to: '/alerts' }]),
    ...(channels.some(({ id }) => rule.channels.includes(id))
      ? []
      : [{ kind: 'untold', text: `The alert ${rule.name} tells nobody: give it a channel.`, to }]),
  ]
}

const notTaken = (channels: readonly Channel[], deliveries: readonly Delivery[]): readonly Attention[] =>
  channels
    .filter(({ id }) => deliveries.find(({ channelId }) => channelId === id)?.state === 'given_up')
    .map(({ name }) => ({ kind: 'untold', text: `The channel ${name} took no alert.`, to: '/alerts' }))

/** For those who see the wallet. */
export const alertAttention = async (here: Within): Promise<readonly Attention[]> => {
  const { alerts } = here.gateway.store
  const { orgId } = here.session
  const [rules, channels, deliveries] = await Promise.all([
    alerts.rules(orgId),
    alerts.channels(orgId),
    alerts.deliveries({ orgId, most: NEWEST }),
  ])
  return [...rules.flatMap((rule) => ofRule(rule, channels)), ...notTaken(channels, deliveries)]
}
