/** /v1/key/wholesale: a key that may manage others makes, lists, shows and deletes the keys below it. */

import type { z } from 'zod'
import type { KeyedHash } from '../core/keyed-hash.ts'
import { invalid, must, type Refusal, refuse } from '../core/refusal.ts'
import { checkAliases } from '../gateway/aliases.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { takeTurn } from '../gateway/key-turn.ts'
import { readIdempotencyKey } from '../gateway/once-only.ts'
import type { NewKey } from '../store/accounts/tenancy-port.ts'
import type { Key } from '../tenancy/key.ts'
import type { LimitsBody, newKeyBody } from '../tenancy/limits-body.ts'
import { checkWithin } from '../tenancy/rights.ts'
import { anyCallerOf, managerOf, storable } from './caller.ts'
import { readQuery, readTruth } from './query.ts'
import { json } from './reply.ts'
import type { Handler, HttpCall } from './route.ts'
import { shownKey, shownKeys } from './shown-key.ts'
import { anyTargetOf, notYours, targetOf } from './target-key.ts'
import type { BodyHandler } from './with-body.ts'

const LIST_MAX = 1_000
const LIST_USUAL = 100

export const listQuery = ['limit', 'after', 'deleted'] as const
export const deleteQuery = ['with_children'] as const

/** A repeat with the same Idempotency-Key gets the same key. */
export const createChild: BodyHandler<z.output<typeof newKeyBody>> = async (gateway, call, body) => {
  const maker = await managerOf(gateway, call)
  const request = await body()
  const label = storable(request.label)
  const beyond = checkWithin(maker, request.limits, gateway.options.planRpm)
  if (beyond) throw beyond
  const unsold = checkAliases(gateway.offering.catalogue, request.limits.aliases)
  if (unsold) throw unsold
  await takeTurn(gateway, maker, call.trace)
  const { sub } = request
  const { aliases } = request.limits
  if (sub !== undefined && (await gateway.store.subWallets.subWallet(maker, sub)) === undefined)
    throw refuse('not_found', 'There is no such sub-wallet, or it is not yours.')
  const { token, ...identity } = await identityOf(gateway, maker, call)
  const made = await gateway.store.keys.createChild({
    ...identity,
    orgId: maker.orgId,
    walletId: maker.walletId,
    parentId: maker.id,
    label,
    limits: limitsOf(request.limits),
    canManage: request.limits.canManage ?? false,
    ...(sub === undefined ? {} : { subWallet: sub }),
    ...(aliases == null ? {} : { aliases }),
  })
  if (made === undefined) throw refuse('forbidden', 'The key may not make keys any more, or was disabled.')
  if (made.deleted)
    throw refuse(
      'idempotency_key_reused',
      'The Idempotency-Key made a key that was deleted since; use another one.',
    )
  if (made.label !== label)
    throw refuse('idempotency_key_reused', 'The Idempotency-Key made a key with another label before.')
  return json({ data: { ...(await shownKey(gateway, made)), key: token } }, 201)
}

/** Keys below the calling key at any depth, newest first. */
export const listChildren: Handler = async (gateway, call) => {
  const caller = await anyCallerOf(gateway, call)
  const query = must(readQuery(call.query, listQuery))
  const most = must(readCount(query.get('limit')))
  const after = query.get('after')
  if (after !== undefined && !(await gateway.store.keys.key(after))?.above.includes(caller.id))
    throw invalid('after', "'after' must be the id of a key of this list: the last one of the page before.")
  const found = await gateway.store.keys.list({
    below: caller.id,
    deleted: must(readTruth('deleted', query.get('deleted'))),
    most: most + 1,
    ...(after === undefined ? {} : { after }),
  })
  return json({
    object: 'list',
    data: await shownKeys(gateway, found.slice(0, most)),
    has_more: found.length > most,
  })
}

/** Also shows deleted keys, because their history stays. */
export const getChild: Handler = async (gateway, call) => {
  const caller = await anyCallerOf(gateway, call)
  return json({ data: await shownKey(gateway, await anyTargetOf(gateway, caller, call)) })
}

/** Resolves once no process admits a call of the key. */
export const deleteChild: Handler = async (gateway, call) => {
  const caller = await managerOf(gateway, call)
  const target = await targetOf(gateway, caller, call)
  const query = must(readQuery(call.query, deleteQuery))
  const withChildren = must(readTruth('with_children', query.get('with_children')))
  if (target.id === caller.id)
    throw refuse(
      'forbidden',
      'A key cannot delete itself; it can disable itself, or a key above it can delete it.',
    )
  if (!(await gateway.book.deleteKey(target.id, withChildren))) throw notYours()
  return json({ id: target.id, deleted: true, with_children: withChildren })
}

const limitsOf = (body: LimitsBody): NewKey['limits'] => {
  const { disabled: _, canManage: _right, withChildren: _below, aliases: _names, ...limits } = body
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== null))
}

/**
 * The token is derived under the server's secret. If there is an Idempotency-Key it is derived from that, so that a
 * repeat gets the same token.
 */
const identityOf = async (gateway: Gateway, maker: Key, call: HttpCall) => {
  const attempt = call.request.headers.get('idempotency-key')
  const fresh = gateway.newCallId().replaceAll('-', '')
  const name = attempt === null ? `once ${fresh}` : `attempt ${must(readIdempotencyKey(attempt))}`
  const { hash } = gateway
  const under = (secret: KeyedHash) => {
    const token = `sk-${secret(`child key of ${maker.id} ${name}`)}`
    const id = `key_${attempt === null ? fresh : secret(`id of ${token}`).slice(0, 32)}`
    return { token, id, hash: hash(token), hashedBy: hash.id, prefix: token.slice(0, 10) }
  }
  // A repeat of a request made under the previous secret gets the same token.
  const before = attempt === null || hash.before === undefined ? undefined : under(hash.before)
  return before !== undefined && (await gateway.store.keys.key(before.id)) !== undefined
    ? before
    : under(hash)
}

const readCount = (text: string | undefined): number | Refusal => {
  if (text === undefined) return LIST_USUAL
  const count = /^\d{1,4}$/.test(text) ? Number.parseInt(text, 10) : 0
  return count >= 1 && count <= LIST_MAX
    ? count
    : invalid('limit', `'limit' must be a whole number from 1 to ${LIST_MAX}.`)
}
