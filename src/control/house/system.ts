/** Acts on the running server: its processes, vendors, settings, books and sums. The ledger stays as it is. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { refuse } from '../../core/refusal.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { type Acting, act, type Control } from '../act.ts'
import { flag, isoOf } from '../read.ts'
import { time, usd } from '../shown-key.ts'
import { checkWholeHouse } from '../who.ts'

/** What a server that runs knows beside the ledger. */
export type Server = Pick<
  Gateway,
  'book' | 'clock' | 'config' | 'instance' | 'offering' | 'options' | 'store' | 'watch'
>

const runs = (control: Control): control is Control & Server => 'instance' in control

/** The server that runs; a command that has the ledger alone is refused. */
export const serverOf = (acting: Acting): Server => {
  checkWholeHouse(acting.who)
  if (!runs(acting.control)) throw refuse('not_found', 'A running server tells this, and no command.')
  return acting.control
}

const system = namedObject('System', {
  engine: z.string(),
  instance: z.string(),
  fresh: z.boolean(),
  open_calls: z.int(),
  queued: z.int(),
  oldest_queued_ms: z.int(),
  journal: z.string().nullable().describe('Its folder'),
  rolled_up_until: time,
  memory_mb: z.int(),
  books: z.object({
    trouble: z.string().nullable().describe('What is wrong with the books; null while all laws hold'),
    looked_at: time.nullable(),
  }),
  config: z
    .object({
      version: z.string(),
      applied_at: time,
      trouble: z.string().nullable().describe('Why the newest is not valid; null while it is in use'),
      needs_restart: z.array(z.string()),
    })
    .nullable()
    .describe('The configuration of this process; null where it cannot change'),
  processes: z.array(
    z.object({
      id: z.string(),
      beat_at: time.nullable().describe('null for one that has left'),
      leases: z.int(),
      lent_usd: usd,
      open_calls: z.int(),
      held_usd: usd,
    }),
  ),
})

const configOf = ({ config }: Server) => {
  if (config === undefined) return null
  const { version, appliedAt, refused, needsRestart } = config.status()
  return {
    version,
    applied_at: isoOf(appliedAt),
    trouble: refused?.errors.join('; ') ?? null,
    needs_restart: [...needsRestart],
  }
}

export const systemGet = act({
  name: 'system.get',
  summary: 'The processes, what they have borrowed, and the books.',
  reads: ['system'],
  input: {},
  shows: system,
  does: async (acting) => {
    const server = serverOf(acting)
    const { book, store, instance, offering } = server
    const { books } = server.watch
    const { fresh, openCalls, queued, oldestQueuedMs } = book.health()
    const [rolledUpUntil, processes] = await Promise.all([store.reports.rollUp(), store.reports.processes()])
    const lookedAt = books?.lookedAt()
    return {
      engine: store.engine,
      instance,
      fresh,
      open_calls: openCalls,
      queued,
      oldest_queued_ms: Math.round(oldestQueuedMs),
      journal: offering.setup?.journal ?? null,
      rolled_up_until: isoOf(rolledUpUntil),
      memory_mb: Math.round(process.memoryUsage().rss / 1_000_000),
      books: {
        trouble: books?.trouble() ?? null,
        looked_at: lookedAt === undefined ? null : isoOf(lookedAt),
      },
      config: configOf(server),
      processes: processes.map(({ id, beatAt, leases, lent, openCalls: open, held }) => ({
        id,
        beat_at: beatAt === 0 ? null : isoOf(beatAt),
        leases,
        lent_usd: lent,
        open_calls: open,
        held_usd: held,
      })),
    }
  },
})

const setup = namedObject('Setup', {
  settings: z.array(
    z.object({
      group: z.string(),
      name: z.string(),
      value: z.string().nullable(),
      from: z.enum(['environment', 'default', 'unset']),
      secret: z.boolean(),
      allowed: z.string(),
      meaning: z.string(),
    }),
  ),
  markup: z.string(),
  discount: z.string(),
  overridden: z.array(z.string()),
  trials: z.object({
    amount_usd: usd,
    daily_usd: usd,
    given_today_usd: usd,
    claimed: z.int(),
    active: z.int(),
  }),
  referrals: z.object({ codes: z.int(), claimed: z.int(), given_usd: usd }),
})

export const setupGet = act({
  name: 'setup.get',
  summary: 'The settings with the source of each, price factors, trials and referrals; read-only.',
  reads: ['system'],
  input: {},
  shows: setup,
  does: async (acting) => {
    const { options, offering, store } = serverOf(acting)
    const gifts = await store.reports.gifts()
    return {
      settings: (offering.setup?.settings ?? []).map(({ value, ...row }) => ({
        ...row,
        value: value ?? null,
      })),
      markup: offering.setup?.markup ?? '1',
      discount: offering.setup?.discount ?? '1',
      overridden: [...(offering.setup?.overridden ?? [])],
      trials: {
        amount_usd: options.trial.amount,
        daily_usd: options.trial.dailyAmount,
        given_today_usd: gifts.trialsToday,
        claimed: gifts.trials,
        active: gifts.activeTrials,
      },
      referrals: { codes: gifts.codes, claimed: gifts.referrals, given_usd: gifts.referred },
    }
  },
})

export const auditRun = act({
  name: 'audit.run',
  summary: 'Checks the sums of the books now, or with `all` every law.',
  reads: ['system'],
  input: { all: flag().describe('Also what reads the detail of each call') },
  shows: namedObject('Audit', {
    data: z.array(z.object({ check: z.string(), ok: z.boolean(), detail: z.string().nullable() })),
  }),
  does: async (acting, { all = false }) => {
    checkWholeHouse(acting.who)
    const rows = await acting.control.store.ledger.audit(all ? 'all' : 'sums')
    return { data: rows.map(({ check, ok, detail }) => ({ check, ok, detail: detail ?? null })) }
  },
})

export const rollUp = act({
  name: 'roll_up.run',
  summary: 'Brings the sums of the reports up to date; with `rebuild` it sums the ledger again.',
  reads: ['system'],
  input: { rebuild: flag().describe('Discards the sums first') },
  shows: namedObject('RollUp', { until: time.describe('Later calls are summed from the ledger') }),
  does: async (acting, { rebuild = false }) => {
    checkWholeHouse(acting.who)
    const { reports } = acting.control.store
    if (rebuild) await reports.forgetRollUps()
    return { until: isoOf(await reports.rollUp()) }
  },
})
