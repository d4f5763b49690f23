/** What of alerts needs attention: steps that are reached, and alerts that would tell nobody. */
import type { Channel, Delivery, OpenAlert, Rule } from '../store/alerts/alert-port.ts'
import { walletHere } from './acting.ts'
import type { Within } from './here.ts'
import type { OverviewShown } from './schema/reports.ts'

type Attention = OverviewShown['attention'][number]
type Watched = Rule & { readonly open: readonly OpenAlert[] }

const NEWEST = 20

const ofRule = (rule: Watched, channels: readonly Channel[]): readonly Attention[] => {
  const worst = rule.open.at(-1)
  const reached = worst === undefined ? '' : worst.step === 0 ? 'its forecast' : `${worst.step} %`
  return [
    ...(worst === undefined
      ? []
      : [{ kind: 'alert', text: `Alert: ${rule.name} reached ${reached}.`, to: '/alerts' }]),
    ...(channels.some(({ id }) => rule.channels.includes(id))
      ? []
      : [{ kind: 'untold', text: `The alert ${rule.name} tells nobody: give it a channel.`, to: '/alerts' }]),
  ]
}

const notTaken = (channels: readonly Channel[], deliveries: readonly Delivery[]): readonly Attention[] =>
  channels
    .filter(({ id }) => deliveries.find(({ channelId }) => channelId === id)?.state === 'given_up')
    .map(({ name }) => ({ kind: 'untold', text: `The channel ${name} took no alert.`, to: '/alerts' }))

/** For those who see the wallet. */
export const alertAttention = async (here: Within): Promise<readonly Attention[]> => {
  const { alerts, wallets } = here.gateway.store
  const { orgId } = here.session
  const [rules, channels, deliveries, { rules: wallet }] = await Promise.all([
    alerts.rules(orgId),
    alerts.channels(orgId),
    alerts.deliveries({ orgId, most: NEWEST }),
    walletHere(here).then((id) => wallets.walletRules(id)),
  ])
  const unheard = wallet.alertBelow !== undefined && wallet.alertWebhookUrl === undefined
  return [
    ...rules.flatMap((rule) => ofRule(rule, channels)),
    ...notTaken(channels, deliveries),
    ...(unheard
      ? [{ kind: 'untold', text: 'The rule “Warn below” warns nobody: it has no address.', to: '/rules' }]
      : []),
  ]
}
