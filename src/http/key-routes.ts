/** The part of the route table about keys: those below the calling one, their limits and their use. */
import { getKeyUsage, putKeyLimits } from './key-limits.ts'
import { createChild, deleteChild, getChild, listChildren } from './keys.ts'
import type { Route } from './route.ts'

const keys = '/v1/key/wholesale'

export const keyRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: keys,
    summary:
      'Makes a key below the calling one, which must be allowed to (`can_manage`); its value is shown once.',
    auth: 'bearer',
    body: 'NewKey',
    answer: 'NewKeyAnswer',
    status: 201,
    headers: ['Idempotency-Key'],
    handler: createChild,
  },
  {
    method: 'GET',
    path: keys,
    summary: 'The keys below the calling one, newest first.',
    auth: 'bearer',
    answer: 'KeyList',
    query: ['limit', 'after', 'deleted'],
    handler: listChildren,
  },
  {
    method: 'GET',
    path: `${keys}/:token`,
    summary: 'One key: `me`, or one below by its id or its token; also one that was deleted.',
    auth: 'bearer',
    answer: 'KeyAnswer',
    handler: getChild,
  },
  {
    method: 'DELETE',
    path: `${keys}/:token`,
    summary:
      'Deletes a key below the calling one, and with `with_children=true` all below that; what they used stays in the reports.',
    auth: 'bearer',
    answer: 'KeyDeleted',
    query: ['with_children'],
    handler: deleteChild,
  },
  {
    method: 'PUT',
    path: `${keys}/:token/limits`,
    summary: 'Changes the limits of a key: `me`, or one below by its id or its token.',
    auth: 'bearer',
    body: 'Limits',
    answer: 'KeyAnswer',
    handler: putKeyLimits,
  },
  {
    method: 'GET',
    path: `${keys}/:token/usage`,
    summary:
      'Limits and spending of a key: `me`, or one below by its id or its token; also one that was deleted.',
    auth: 'bearer',
    answer: 'KeyUsage',
    handler: getKeyUsage,
  },
]
