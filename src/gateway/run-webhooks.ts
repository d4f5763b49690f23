/** Webhooks of ended jobs: sent until the receiver takes them, and signed like alerts. */
import { messageOf } from '../core/message-of.ts'
import type { Run } from '../store/calls/run-port.ts'
import { systemPublicParts } from '../transport/public-address.ts'
import { sendWebhook } from '../transport/webhook.ts'
import type { Gateway } from './gateway.ts'
import { deliveredAnswer, shownRun, shownStates } from './shown-run.ts'
import { signedHeaders } from './wallet-alerts.ts'

const MOST = 20

/** Sends those that are due; a receiver that is away is tried again later. */
export const sendRunWebhooks = async (gateway: Gateway): Promise<void> => {
  const { store, log } = gateway
  const due = await store.runs.takeWebhooks(MOST)
  await Promise.all(
    due.map(async (run) => {
      try {
        await send(gateway, run)
        await store.runs.webhookSent(run.id)
      } catch (error) {
        log.warn('a webhook of a job was not accepted', { call: run.id, error: messageOf(error) })
      }
    }),
  )
}

const send = async (gateway: Gateway, run: Run): Promise<void> => {
  const { clock, webhooks = systemPublicParts } = gateway
  const delivered = await deliveredAnswer(gateway, run, 'run')
  const data: unknown =
    delivered === undefined ? shownRun(gateway, run) : JSON.parse(new TextDecoder().decode(delivered.body))
  const timestamp = String(Math.floor(clock.now() / 1000))
  const at = new Date(clock.now()).toISOString()
  const body = JSON.stringify({ type: `run.${shownStates[run.state]}`, timestamp: at, data })
  const signed = { walletId: run.walletId, id: `run_${run.id}`, timestamp, body }
  await sendWebhook(webhooks, { url: run.webhook ?? '', headers: signedHeaders(gateway, signed), body })
}
