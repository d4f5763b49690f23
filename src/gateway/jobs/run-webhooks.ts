/** Webhooks of ended jobs: sent until the receiver takes them, and signed like alerts. */
import { messageOf } from '../../core/message-of.ts'
import type { Run } from '../../store/calls/run-port.ts'
import { systemPublicParts } from '../../transport/public-address.ts'
import type { Gateway } from '../parts/gateway.ts'
import { deliveredAnswer, shownRun, shownStates } from './shown-run.ts'
import { sendSigned } from './wallet-alerts.ts'

/** How many are under way at once, and of one wallet about: its receivers may be silent, and others wait behind them. */
const AT_ONCE = 100
const OF_WALLET = 20

/** Begins to send those that are due; a receiver that is away is tried again later. */
export const sendRunWebhooks = async (gateway: Gateway): Promise<void> => {
  const { webhooks } = gateway.memory.jobs
  const underWay = [...webhooks.values()]
  const most = AT_ONCE - underWay.reduce((sum, count) => sum + count, 0)
  if (most <= 0) return
  const busy = [...webhooks].filter(([, count]) => count >= OF_WALLET).map(([walletId]) => walletId)
  const due = await gateway.store.runs.takeWebhooks({ most, ofWallet: OF_WALLET, except: busy })
  for (const run of due) void sendOne(gateway, run)
}

const sendOne = async (gateway: Gateway, run: Run): Promise<void> => {
  const { store, log } = gateway
  const { webhooks } = gateway.memory.jobs
  const count = (by: number): number => (webhooks.get(run.walletId) ?? 0) + by
  webhooks.set(run.walletId, count(1))
  try {
    await send(gateway, run)
    await store.runs.webhookSent(run.id)
  } catch (error) {
    log.warn('a webhook of a job was not accepted', { call: run.id, error: messageOf(error) })
  } finally {
    if (count(-1) === 0) webhooks.delete(run.walletId)
    else webhooks.set(run.walletId, count(-1))
  }
}

const send = async (gateway: Gateway, run: Run): Promise<void> => {
  const { clock, webhooks = systemPublicParts } = gateway
  const delivered = await deliveredAnswer(gateway, run, 'run')
  const data: unknown =
    delivered === undefined
      ? await shownRun(gateway, run)
      : JSON.parse(new TextDecoder().decode(delivered.body))
  const timestamp = String(Math.floor(clock.now() / 1000))
  const at = new Date(clock.now()).toISOString()
  const body = JSON.stringify({ type: `run.${shownStates[run.state]}`, timestamp: at, data })
  const signed = { walletId: run.walletId, id: `run_${run.id}`, timestamp, body }
  const parts = { hash: gateway.hash, webhooks, meters: gateway.watch.meters }
  await sendSigned(parts, { kind: 'job', url: run.webhook ?? '', ...signed })
}
