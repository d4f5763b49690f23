/**
 * The configuration over HTTP, for the operator's command. Its token is made from a secret in the ledger, so whoever
 * has the ledger can call it.
 */
import type { z } from 'zod'
import { isOurs } from '../core/keyed-hash.ts'
import { must, refuse, unavailable } from '../core/refusal.ts'
import type { Answer } from '../gateway/answer.ts'
import type { ConfigAction, ConfigReport, Gateway } from '../gateway/gateway.ts'
import { json } from './reply.ts'
import type { Handler, HttpCall } from './route.ts'
import type { ConfigReloaded, ConfigShown, configAsk } from './schema/config.ts'
import type { BodyHandler } from './with-body.ts'

/** The token of the operator's command, made from the secret of the keys. */
export const configToken = (hash: Gateway['hash']): string => hash(CONFIG)

const CONFIG = 'turnpike config'

const iso = (at: number): string => new Date(at).toISOString()

export const getConfig: Handler = async (gateway, call): Promise<Answer> => {
  const { control, reports } = await reportsOf(gateway, call, 'status')
  const shown: ConfigShown = {
    settings: control.settings,
    processes: reports.map(({ process, status: { version, appliedAt, reloads, refused, needsRestart } }) => ({
      process,
      version,
      applied_at: iso(appliedAt),
      reloads,
      refused: refused === undefined ? null : { at: iso(refused.at), errors: [...refused.errors] },
      needs_restart: [...needsRestart],
    })),
  }
  return json(shown)
}

export const postConfig: BodyHandler<z.output<typeof configAsk>> = async (gateway, call, body) => {
  must(opens(gateway, call))
  const { dry_run = false } = await body()
  const { reports } = await reportsOf(gateway, call, dry_run ? 'check' : 'apply')
  return json(together(reports))
}

/** One answer for all processes; a refusal if one of them refuses. */
const together = (reports: readonly ConfigReport[]): ConfigReloaded => {
  const all = reports.flatMap(({ reloaded }) => reloaded ?? [])
  const linesOf = (lines: (one: (typeof all)[number]) => readonly string[]) => [
    ...new Set(all.flatMap(lines)),
  ]
  return {
    outcome: all.find(({ outcome }) => outcome === 'refused')?.outcome ?? all[0]?.outcome ?? 'refused',
    processes: all.length,
    errors: linesOf(({ errors }) => errors),
    changes: linesOf(({ changes }) => changes),
    needs_restart: linesOf(({ needsRestart }) => needsRestart),
  }
}

const reportsOf = async (gateway: Gateway, call: HttpCall, action: ConfigAction) => {
  must(opens(gateway, call))
  const control = gateway.config
  if (control === undefined) throw refuse('not_found', 'This server does not reload its configuration.')
  const reports = await control.ask(action).catch(() => {
    throw unavailable('The other processes of this server do not answer.')
  })
  return { control, reports }
}

const opens = ({ hash }: Gateway, { request }: HttpCall) => {
  const given = /^bearer +(\S+)$/i.exec(request.headers.get('authorization')?.trim() ?? '')?.[1]
  if (given === undefined)
    return refuse('missing_authorization', 'This is for `turnpike config`, which knows the token.', {
      headers: { 'www-authenticate': 'Bearer' },
    })
  return isOurs(hash, CONFIG, given)
    ? undefined
    : refuse('invalid_api_key', 'This is for `turnpike config` on the ledger of this server.', {
        headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
      })
}
