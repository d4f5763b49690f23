/** The key part of the route table: keys below the calling one, their limits and their use. */

import { limitsBody, newKeyBody } from '../tenancy/limits-body.ts'
import { getKeyUsage, putKeyLimits } from './key-limits.ts'
import { createChild, deleteChild, deleteQuery, getChild, listChildren, listQuery } from './keys.ts'
import type { Route } from './route.ts'
import { keyAnswer, keyDeleted, keyList, keyUsage, newKeyAnswer } from './schema/keys.ts'
import { withBody } from './with-body.ts'

const keys = '/v1/key/wholesale'

export const keyRoutes: readonly Route[] = [
  withBody({
    method: 'POST',
    path: keys,
    summary:
      'Makes a key below the calling one, which needs the right to (`can_manage`); its value is shown once.',
    auth: 'bearer',
    body: newKeyBody,
    answer: newKeyAnswer,
    statuses: [201],
    headers: ['Idempotency-Key'],
    handler: createChild,
  }),
  {
    method: 'GET',
    path: keys,
    summary: 'The keys below the calling one, newest first.',
    auth: 'bearer',
    answer: keyList,
    query: listQuery,
    handler: listChildren,
  },
  {
    method: 'GET',
    path: `${keys}/:token`,
    summary: 'One key: `me`, or one below by its id or its token; deleted keys too.',
    auth: 'bearer',
    answer: keyAnswer,
    handler: getChild,
  },
  {
    method: 'DELETE',
    path: `${keys}/:token`,
    summary:
      'Deletes a key below the calling one, and with `with_children=true` all below that; what they used stays in the reports.',
    auth: 'bearer',
    answer: keyDeleted,
    query: deleteQuery,
    handler: deleteChild,
  },
  withBody({
    method: 'PUT',
    path: `${keys}/:token/limits`,
    summary: 'Changes the limits of a key: `me`, or one below by its id or its token.',
    auth: 'bearer',
    body: limitsBody,
    answer: keyAnswer,
    handler: putKeyLimits,
  }),
  {
    method: 'GET',
    path: `${keys}/:token/usage`,
    summary: 'Limits and spending of a key: `me`, or one below by its id or its token; deleted keys too.',
    auth: 'bearer',
    answer: keyUsage,
    handler: getKeyUsage,
  },
]
