/** The console's part of the route table: its API, each row behind its guard, and its pages. */

import { letIn } from '../../console/guard.ts'
import { type ConsoleRoute, type Reply, roleHeaderFor } from '../../console/here.ts'
import { consoleRoutes as apiRoutes } from '../../console/routes.ts'
import { present } from '../../core/json-body.ts'
import { must } from '../../core/refusal.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { json } from '../answer/reply.ts'
import { originOfCall } from '../request/origin.ts'
import { readQuery } from '../request/query.ts'
import { readSmallBody } from '../request/read-body.ts'
import { at, type Route } from '../route/route.ts'
import { addressOf } from '../route/router.ts'
import { page, script } from '../schema/console.ts'
import { postConsoleEnter } from './console-enter.ts'
import { getConsoleFile, getConsolePage } from './console-pages.ts'

const encoder = new TextEncoder()

const answerOf = ({ value, status = 200, cookies, csv, redirect }: Reply): Answer => {
  const set = cookies === undefined ? {} : { cookies }
  if (redirect !== undefined)
    return {
      status: 302,
      headers: { location: redirect, 'cache-control': 'no-store' },
      body: new Uint8Array(),
      ...set,
    }
  if (csv !== undefined)
    return {
      status,
      headers: {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="${csv.name}"`,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      },
      body: encoder.encode(csv.text),
    }
  return { ...json(value, status), ...set }
}

const routeOf = (route: ConsoleRoute): Route => ({
  method: route.method,
  path: `/console/api${route.path}`,
  summary: route.summary,
  auth: 'session',
  ...(route.body === undefined ? {} : { body: route.body }),
  answer: route.answer,
  ...(route.money === undefined ? {} : { money: route.money }),
  ...(route.csv === true ? { answerType: 'text/csv' } : {}),
  ...present({ statuses: route.statuses, query: route.query }),
  handler: async (gateway, call) => {
    const { request, params } = call
    const here = await letIn(gateway, route, {
      headers: request.headers,
      params,
      query: must(readQuery(call.query, route.query ?? [])),
      address: originOfCall(gateway, call),
      origin: gateway.console?.origin ?? new URL(addressOf(request)).origin,
    })
    const answer = answerOf(await route.handler(here, () => readSmallBody(gateway, call)))
    return { ...answer, headers: { ...answer.headers, ...roleHeaderFor(here) } }
  },
})

const pages = (path: string): Route => ({
  method: 'GET',
  path,
  summary: 'The pages of the console; 404 if CONSOLE is off.',
  auth: 'none',
  answer: page,
  answerType: 'text/html',
  handler: getConsolePage,
})

export const consoleRoutes: readonly Route[] = [
  ...apiRoutes.map(routeOf),
  {
    ...at('GET /console/files/:name'),
    summary: 'Script and style of the console.',
    auth: 'none',
    answer: script,
    answerType: 'text/javascript',
    handler: getConsoleFile,
  },
  {
    ...at('POST /console/enter'),
    summary: 'Brings somebody from the console of another cell; leads to the page that signs them in.',
    auth: 'none',
    answer: page,
    answerType: 'text/html',
    statuses: [302],
    handler: postConsoleEnter,
  },
  // Beside the form's address, which would hide it from the last row.
  pages('/console/enter'),
  pages('/console'),
  // People type it, and so do links of others.
  pages('/console/'),
  pages('/console/*rest'),
]
