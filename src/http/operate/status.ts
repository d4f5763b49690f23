/** The health of the service: its parts (/api/status, always 200), and whether to send calls here (/readyz, /livez). */
import type { Assets } from '../../assets/assets.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { restingOf } from '../../routing/deployments.ts'
import { json } from '../answer/reply.ts'

type ServiceCheck = {
  readonly status: 'ok' | 'degraded'
  readonly latency_ms?: number
  readonly error?: string
}

const PING_MS = 2_000
const NOT_IN_TOUCH = 'not in touch with the ledger; new calls are refused'
const LEAVING = 'the server is shutting down; new calls are refused'

/** GET /livez: the process answers. */
export const getLive = async (): Promise<Answer> => json({ status: 'ok' })

/** GET /readyz: whether to send new calls here. For load balancers; it contacts nobody. */
export const getReady = async (gateway: Gateway): Promise<Answer> => {
  const { fresh, draining } = gateway.book.health()
  if (draining) return json({ status: 'draining', error: LEAVING }, 503)
  return fresh ? json({ status: 'ok' }) : json({ status: 'out_of_touch', error: NOT_IN_TOUCH }, 503)
}

export const getStatus = async (gateway: Gateway): Promise<Answer> => {
  const health = gateway.book.health()
  const services: Record<string, ServiceCheck> = {
    api: health.draining ? { status: 'degraded', error: LEAVING } : checkApi(gateway),
    database: await checkDatabase(gateway),
    ledger: health.fresh ? { status: 'ok' } : { status: 'degraded', error: NOT_IN_TOUCH },
  }
  if (gateway.config !== undefined)
    services.config =
      gateway.config.status().refused === undefined
        ? { status: 'ok' }
        : { status: 'degraded', error: 'the newest configuration cannot be used; the one before it serves' }
  const books = gateway.watch.books?.trouble()
  if (gateway.watch.books !== undefined)
    services.books = books === undefined ? { status: 'ok' } : { status: 'degraded', error: books }
  const { standby, replica, cells } = gateway.watch
  for (const [name, watched] of Object.entries({ standby, replica, cells })) {
    const error = watched?.trouble()
    if (watched !== undefined)
      services[name] = error === undefined ? { status: 'ok' } : { status: 'degraded', error }
  }
  if (gateway.receipts !== undefined) {
    const error =
      gateway.receipts.keys.signer() === undefined
        ? 'no key to sign with; restart, or run `turnpike receipt rotate --now`'
        : gateway.watch.log?.trouble()
    services.receipts = error === undefined ? { status: 'ok' } : { status: 'degraded', error }
  }
  if (gateway.assets !== undefined) services.assets = await checkAssets(gateway, gateway.assets)
  const now = gateway.clock.monotonicMs()
  for (const [id, setup] of gateway.offering.vendors) {
    const { resting, of } = restingOf(setup, gateway.offering.traffic, now)
    services[`vendors.${id}`] =
      resting > 0
        ? {
            status: 'degraded',
            error: `recent calls failed on ${resting} of ${of} keys, for some or all models; they rest and are tried again later`,
          }
        : { status: 'ok' }
  }
  if (gateway.payments.x402 !== undefined) {
    const error = gateway.payments.x402.trouble()
    services.payments = error === undefined ? { status: 'ok' } : { status: 'degraded', error }
  }
  const degraded = Object.values(services).some((check) => check.status === 'degraded')
  return json({ status: degraded ? 'degraded' : 'ok', services })
}

const checkApi = (gateway: Gateway): ServiceCheck => {
  const error = gateway.memory.faults.recent(gateway.clock.monotonicMs())
  if (error !== undefined) return { status: 'degraded', error }
  return gateway.book.health().openCalls >= gateway.options.openCallsMax
    ? { status: 'degraded', error: 'the server has reached its limit of open calls; new ones are refused' }
    : { status: 'ok' }
}

/** Calls whose results must be stored are a 503 for the same reason. */
const checkAssets = async ({ clock }: Gateway, assets: Assets): Promise<ServiceCheck> => {
  const late = clock.sleep(PING_MS).then(() => 'late' as const)
  const full = await Promise.race([assets.full(), late])
  if (full === undefined) return { status: 'ok' }
  const error = full === 'late' ? 'the place of results does not answer' : full.message
  return { status: 'degraded', error }
}

const checkDatabase = async (gateway: Gateway): Promise<ServiceCheck> => {
  const started = gateway.clock.monotonicMs()
  const late = gateway.clock.sleep(PING_MS).then(() => 'late' as const)
  const ping = gateway.store.ping().then(
    () => 'ok' as const,
    () => 'failed' as const,
  )
  const outcome = await Promise.race([ping, late])
  const latency_ms = Math.round((gateway.clock.monotonicMs() - started) * 10) / 10
  return outcome === 'ok'
    ? { status: 'ok', latency_ms }
    : {
        status: 'degraded',
        latency_ms,
        error: `the database ${outcome === 'late' ? 'does not answer' : 'cannot be reached'}`,
      }
}
