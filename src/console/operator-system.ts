/**
 * The system, for operators: processes and what they have borrowed, vendors' health, the audit, the setup. Nothing can
 * be changed here.
 */
import type { Gateway } from '../gateway/gateway.ts'
import type { CallLine } from '../store/reports/report-port.ts'
import type { VendorSetup } from '../vendors/setup.ts'
import type { ConsoleRoute, Here, Reply } from './here.ts'
import { isoOf, usdOf } from './read.ts'
import { audit, setup, system, vendorList } from './schema/operator.ts'

const getSystem = async ({ gateway }: Here): Promise<Reply> => {
  const { book, store, instance } = gateway
  const { books } = gateway.watch
  const { fresh, openCalls, queued, oldestQueuedMs } = book.health()
  const [rolledUpUntil, processes] = await Promise.all([store.reports.rollUp(), store.reports.processes()])
  const lookedAt = books?.lookedAt()
  return {
    value: {
      engine: store.engine,
      instance,
      fresh,
      open_calls: openCalls,
      queued,
      oldest_queued_ms: Math.round(oldestQueuedMs),
      journal: gateway.offering.setup?.journal ?? null,
      rolled_up_until: isoOf(rolledUpUntil),
      memory_mb: Math.round(process.memoryUsage().rss / 1_000_000),
      books: {
        trouble: books?.trouble() ?? null,
        looked_at: lookedAt === undefined ? null : isoOf(lookedAt),
      },
      config: configOf(gateway),
      processes: processes.map(({ id, beatAt, leases, lent, openCalls: open, held }) => ({
        id,
        beat_at: beatAt === 0 ? null : isoOf(beatAt),
        leases,
        lent_usd: usdOf(lent),
        open_calls: open,
        held_usd: usdOf(held),
      })),
    },
  }
}

const configOf = ({ config }: Gateway) => {
  if (config === undefined) return null
  const { version, appliedAt, refused, needsRestart } = config.status()
  return {
    version,
    applied_at: isoOf(appliedAt),
    trouble: refused?.errors.join('; ') ?? null,
    needs_restart: [...needsRestart],
  }
}

/** How many calls a vendor is judged by. */
const NEWEST = 500

const median = (values: readonly number[]): number | null => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted.length === 0 ? null : Math.round(sorted[Math.trunc(sorted.length / 2)] ?? 0)
}

/**
 * What is failing at a vendor in this process, until its next success: a key with all its models, or one model at a
 * key. It is also shown after its rest is over, which is soon, because somebody who looks at night must see it.
 */
const failingOf = ({ offering: { traffic }, clock }: Gateway, { vendor, secrets }: VendorSetup) => {
  const now = clock.monotonicMs()
  return [...traffic.health].flatMap(([name, { failures, restingUntilMs }]) => {
    const [key = '', model] = name.split(' ', 2)
    const [id, index] = key.split('#')
    if (id !== vendor.id) return []
    const secret = secrets[Number(index)]
    return [
      {
        key: secret === undefined ? 'no key' : `…${secret.reveal().slice(-4)}`,
        model: model ?? null,
        failures,
        seconds: Math.max(0, Math.ceil((restingUntilMs - now) / 1_000)),
      },
    ]
  })
}

const shownVendor = (gateway: Gateway, setup: VendorSetup, newest: readonly CallLine[]) => {
  const { vendor, secrets } = setup
  const details = newest.flatMap(({ detail }) => (detail?.vendor === vendor.id ? [detail] : []))
  const ended = details.filter((detail) => detail.ended === 'ok')
  return {
    id: vendor.id,
    name: vendor.name,
    keys: secrets.map((secret) => `…${secret.reveal().slice(-4)}`),
    calls: details.length,
    failed: details.filter((detail) => detail.ended === 'vendor_failed').length,
    first_byte_ms: median(ended.map(({ firstByteMs }) => firstByteMs)),
    took_ms: median(ended.map(({ tookMs }) => tookMs)),
    failing: failingOf(gateway, setup),
  }
}

const getVendors = async ({ gateway }: Here): Promise<Reply> => {
  const newest = await gateway.store.reports.calls({ most: NEWEST })
  return {
    value: {
      data: [...gateway.offering.vendors.values()].map((one) => shownVendor(gateway, one, newest)),
      of_calls: newest.length,
      off: gateway.offering.setup?.off ?? [],
    },
  }
}

const getSetup = async ({ gateway }: Here): Promise<Reply> => {
  const { trial } = gateway.options
  const gifts = await gateway.store.reports.gifts()
  return {
    value: {
      settings: (gateway.offering.setup?.settings ?? []).map(({ value, ...row }) => ({
        ...row,
        value: value ?? null,
      })),
      markup: gateway.offering.setup?.markup ?? '1',
      discount: gateway.offering.setup?.discount ?? '1',
      overridden: gateway.offering.setup?.overridden ?? [],
      trials: {
        amount_usd: usdOf(trial.amount),
        daily_usd: usdOf(trial.dailyAmount),
        given_today_usd: usdOf(gifts.trialsToday),
        claimed: gifts.trials,
        active: gifts.activeTrials,
      },
      referrals: { codes: gifts.codes, claimed: gifts.referrals, given_usd: usdOf(gifts.referred) },
    },
  }
}

const runAudit = async ({ gateway }: Here): Promise<Reply> => ({
  value: {
    data: (await gateway.store.ledger.audit('sums')).map(({ check, ok, detail }) => ({
      check,
      ok,
      detail: detail ?? null,
    })),
  },
})

export const systemRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/operator/system',
    summary: 'The processes, what they have borrowed, and the books.',
    audience: 'operator',
    answer: system,
    handler: getSystem,
  },
  {
    method: 'GET',
    path: '/operator/vendors',
    summary:
      'The vendors that are on: their keys, what rests after failures, and the outcome of the newest calls.',
    audience: 'operator',
    answer: vendorList,
    handler: getVendors,
  },
  {
    method: 'GET',
    path: '/operator/setup',
    summary: 'The settings with the source of each, price factors, trials and referrals; read-only.',
    audience: 'operator',
    answer: setup,
    handler: getSetup,
  },
  {
    method: 'POST',
    path: '/operator/audit',
    summary: 'Checks the sums of the books now.',
    audience: 'operator',
    answer: audit,
    handler: runAudit,
  },
]
