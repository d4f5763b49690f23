/** The API reference, served by the server that it describes. */
import type { JsonObject } from '../../core/json-body.ts'
import { must, refuse } from '../../core/refusal.ts'
import { refusalTable } from '../../core/refusal-table.ts'
import { takeGuestTurn } from '../../gateway/paid/guest-turn.ts'
import { endpointPage, errorsPage, referencePage } from '../../products/pages/reference-pages.ts'
import { searchPage } from '../../products/pages/search-page.ts'
import { helperTable } from '../answer/helper-refusal.ts'
import { publicPage, publicReply } from '../answer/public-reply.ts'
import { originOfCall } from '../request/origin.ts'
import { readQuery } from '../request/query.ts'
import type { Handler, Route } from '../route/route.ts'
import { openApiDocument, page } from '../schema/products.ts'
import { payable } from './payable.ts'
import { placeOf, shelfHere } from './place.ts'
import { referenceOf } from './reference.ts'

const WORDS_MOST = 200

type Rows = Parameters<typeof errorsPage>[0]

const rows = (): Rows => ({
  errors: Object.entries(refusalTable).map(([code, row]) => ({
    code,
    status: row.status,
    meaning: row.meaning,
    members: 'members' in row ? row.members : '',
  })),
  helpers: Object.entries(helperTable).map(([name, row]) => ({
    code: 'error' in row ? row.error : name,
    status: row.status,
    meaning: row.meaning,
    members: 'members' in row ? row.members : '',
    at: row.at,
  })),
})

/** The table includes these rows, so it is requested only once it is complete. */
export const referenceRoutes = (all: () => readonly Route[]): readonly Route[] => {
  let made: JsonObject | undefined
  const document = (): JsonObject => {
    // As it is in JSON: undefined members are left out.
    made ??= JSON.parse(JSON.stringify(referenceOf(all()))) as JsonObject
    return made
  }
  const getDocument: Handler = async (gateway, call) => {
    takeGuestTurn(gateway, 'reference', originOfCall(gateway, call), call.trace)
    const { x402 } = gateway.payments
    const offers = x402?.offers() ?? []
    const told =
      x402 === undefined || offers.length === 0
        ? document()
        : payable(document(), shelfHere(gateway), [...offers, ...x402.cards])
    return publicReply(call, {
      type: 'application/json',
      text: JSON.stringify({ ...told, servers: [{ url: placeOf(gateway, call).base }] }),
    })
  }
  const getReference: Handler = async (gateway, call) =>
    publicPage(call, referencePage(document(), placeOf(gateway, call)))
  const getErrors: Handler = async (gateway, call) =>
    publicPage(call, errorsPage(rows(), placeOf(gateway, call)))
  const getEndpoint: Handler = async (gateway, call) => {
    const text = endpointPage(document(), call.params.rest ?? '', placeOf(gateway, call))
    if (text === undefined) throw refuse('not_found', 'There is no such endpoint; /reference lists them.')
    return publicPage(call, text)
  }
  const getSearch: Handler = async (gateway, call) => {
    const query = must(readQuery(call.query, ['q']))
    const searched = { shelf: shelfHere(gateway), document: document(), errors: rows().errors }
    return publicPage(
      call,
      searchPage(searched, (query.get('q') ?? '').slice(0, WORDS_MOST), placeOf(gateway, call)),
    )
  }
  const open = { method: 'GET', auth: 'none' } as const
  const asPage = { ...open, answer: page, answerType: 'text/html' } as const
  return [
    {
      ...open,
      path: '/openapi.json',
      summary: 'This reference, for programs.',
      answer: openApiDocument,
      handler: getDocument,
    },
    { ...asPage, path: '/reference', summary: 'This reference, for people.', handler: getReference },
    {
      ...asPage,
      path: '/search',
      summary: 'Products, quickstarts, endpoints and errors that have some words.',
      query: ['q'],
      handler: getSearch,
    },
    { ...asPage, path: '/reference/errors', summary: 'Every error, for people.', handler: getErrors },
    { ...asPage, path: '/reference/*rest', summary: 'One endpoint, for people.', handler: getEndpoint },
  ]
}
