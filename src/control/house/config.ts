/** Acts on the configuration of a running server: its state in each process, and reading it again. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { refuse, unavailable } from '../../core/refusal.ts'
import type { ConfigAction, ConfigReport } from '../../gateway/parts/gateway.ts'
import { HOUSE } from '../../store/people/machine-port.ts'
import { type Acting, act } from '../act.ts'
import { flag, isoOf } from '../read.ts'
import { time } from '../shown-key.ts'
import { serverOf } from './system.ts'

const lines = z.array(z.string())

const configShown = namedObject('Configuration', {
  settings: z
    .record(z.string(), z.string())
    .describe('Settings that are only read at a start: a fingerprint of each value'),
  hashed_by: z
    .string()
    .nullable()
    .describe('Which TURNPIKE_SECRET fingerprints are made with, without revealing it'),
  processes: z.array(
    z.object({
      process: z.string(),
      version: z.string().describe('Processes with the same fingerprint sell the same'),
      applied_at: time,
      reloads: z.int(),
      refused: z.object({ at: time, errors: lines }).nullable().describe('Why the newest cannot be used'),
      needs_restart: lines.describe('Changed settings that are only read at a start'),
    }),
  ),
})
export type ConfigShown = z.output<typeof configShown>

const configReloaded = namedObject('ConfigurationReloaded', {
  outcome: z.enum(['applied', 'checked', 'refused']),
  processes: z.int().describe('How many answered'),
  errors: lines,
  changes: lines,
  needs_restart: lines,
})
export type ConfigReloaded = z.output<typeof configReloaded>

const reportsOf = async (acting: Acting, action: ConfigAction) => {
  const { config } = serverOf(acting)
  if (config === undefined) throw refuse('not_found', 'This server does not reload its configuration.')
  const reports = await config.ask(action).catch(() => {
    throw unavailable('The other processes of this server do not answer.')
  })
  return { settings: config.settings, reports }
}

/** Reads it again in all processes; one answer for all, a refusal if one of them refuses. */
export const applyConfig = async (acting: Acting, action: 'check' | 'apply' = 'apply') =>
  together((await reportsOf(acting, action)).reports)

export const configGet = act({
  name: 'config.get',
  summary: 'The state of the configuration in each process.',
  reads: ['system'],
  input: {},
  shows: configShown,
  does: async (acting) => {
    const { settings, reports } = await reportsOf(acting, 'status')
    return {
      settings: { ...settings },
      hashed_by: acting.control.hash.id ?? null,
      processes: reports.map(
        ({ process, status: { version, appliedAt, reloads, refused, needsRestart } }) => ({
          process,
          version,
          applied_at: isoOf(appliedAt),
          reloads,
          refused: refused === undefined ? null : { at: isoOf(refused.at), errors: [...refused.errors] },
          needs_restart: [...needsRestart],
        }),
      ),
    }
  },
})

/** One answer for all processes; a refusal if one of them refuses. */
const together = (reports: readonly ConfigReport[]): ConfigReloaded => {
  const all = reports.flatMap(({ reloaded }) => reloaded ?? [])
  const linesOf = (of: (one: (typeof all)[number]) => readonly string[]) => [...new Set(all.flatMap(of))]
  return {
    outcome: all.find(({ outcome }) => outcome === 'refused')?.outcome ?? all[0]?.outcome ?? 'refused',
    processes: all.length,
    errors: linesOf(({ errors }) => errors),
    changes: linesOf(({ changes }) => changes),
    needs_restart: linesOf(({ needsRestart }) => needsRestart),
  }
}

export const configApply = act({
  name: 'config.apply',
  summary:
    'Reads turnpike.yaml and the files of secrets again; with `dry_run` it only says what would change.',
  changes: ['system'],
  input: { dry_run: flag() },
  shows: configReloaded,
  does: async (acting, { dry_run: dryRun = false }) => {
    const done = await applyConfig(acting, dryRun ? 'check' : 'apply')
    if (done.outcome !== 'applied') {
      acting.unchanged?.()
      return done
    }
    const { control, who } = acting
    const event = { actor: who.actor, orgId: HOUSE, what: 'config.applied', subject: HOUSE }
    await control.store.events.record({ ...event, after: { changes: done.changes } })
    return done
  },
})
