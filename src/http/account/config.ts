/**
 * The configuration over HTTP, for the operator's command. Its token is made from a secret in the ledger, so whoever
 * has the ledger can call it.
 */
import { configApply, configGet } from '../../control/house/config.ts'
import { whoIsCommand } from '../../control/who.ts'
import { isOurs } from '../../core/keyed-hash.ts'
import { must, refuse } from '../../core/refusal.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { HttpCall, Route } from '../route/route.ts'
import { type ActRow, actRoute } from './act-route.ts'

const CONFIG = 'turnpike config'

/** The token of the operator's command, made from the secret of the keys. */
export const configToken = (hash: Gateway['hash']): string => hash(CONFIG)

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

const byLedger = actRoute({
  auth: 'bearer',
  money: 'number',
  asking: async (gateway, call) => {
    must(opens(gateway, call))
    return { who: whoIsCommand('config') }
  },
})

const rows: readonly ActRow[] = [
  { method: 'GET', path: '/api/config', act: configGet },
  { method: 'POST', path: '/api/config', act: configApply, bodyName: 'ConfigurationAsk' },
]

export const configRoutes: readonly Route[] = rows.map(byLedger)
