/**
 * Pages for people, and the first files that crawlers and agents read. They are built from what the server sells and
 * answers.
 */
import { must, refuse } from '../../core/refusal.ts'
import { llmsText, robotsText, siteMap } from '../../products/pages/for-agents.ts'
import { homePage, homeText } from '../../products/pages/home-page.ts'
import { fundingPage } from '../../products/pages/key-section.ts'
import { listPage } from '../../products/pages/list-page.ts'
import { productPage } from '../../products/pages/product-page.ts'
import { quickstartPage, quickstartsPage, recipeNamed } from '../../products/pages/quickstart-pages.ts'
import { modelHere } from '../../products/recipes/recipe.ts'
import { publicPage, publicReply } from '../answer/public-reply.ts'
import { readQuery } from '../request/query.ts'
import type { Handler } from '../route/route.ts'
import { placeOf, shelfHere } from './place.ts'
import { descriptorNamed, descriptorReply, itemNamed, shelfPage } from './products.ts'

const TEXT = 'text/plain; charset=utf-8'

export const getListPage: Handler = async (gateway, call) =>
  publicPage(call, listPage(shelfPage(gateway, call), placeOf(gateway, call)))

/** A product's descriptor or page, depending on how the address ends. */
export const getProduct: Handler = async (gateway, call) => {
  must(readQuery(call.query, []))
  const { rest = '' } = call.params
  const name = descriptorNamed(rest)
  if (name !== undefined) return descriptorReply(gateway, call, name)
  return publicPage(call, productPage(shelfHere(gateway), itemNamed(gateway, rest), placeOf(gateway, call)))
}

export const getHome: Handler = async (gateway, call) => {
  const place = placeOf(gateway, call)
  const wantsPage = call.request.headers.get('accept')?.includes('text/html') === true
  const answer = wantsPage
    ? publicPage(call, homePage(place))
    : publicReply(call, { type: TEXT, text: homeText(place) })
  return { ...answer, headers: { ...answer.headers, vary: 'host, accept' } }
}

export const getFundingPage: Handler = async (gateway, call) =>
  publicPage(call, fundingPage(placeOf(gateway, call)))

export const getQuickstarts: Handler = async (gateway, call) =>
  publicPage(call, quickstartsPage(placeOf(gateway, call)))

export const getQuickstart: Handler = async (gateway, call) => {
  const recipe = recipeNamed(call.params.client ?? '')
  if (recipe === undefined) throw refuse('not_found', 'There is no such quickstart; /quickstart lists them.')
  const model = modelHere(gateway.offering.catalogue, recipe)
  return publicPage(
    call,
    quickstartPage(recipe, model, gateway.offering.catalogue.find(model), placeOf(gateway, call)),
  )
}

export const getLlmsText: Handler = async (gateway, call) =>
  publicReply(call, { type: TEXT, text: llmsText(shelfHere(gateway), placeOf(gateway, call)) })

export const getRobots: Handler = async (gateway, call) =>
  publicReply(call, { type: TEXT, text: robotsText(placeOf(gateway, call)) })

export const getSiteMap: Handler = async (gateway, call) =>
  publicReply(call, {
    type: 'application/xml',
    text: siteMap(shelfHere(gateway), placeOf(gateway, call)),
  })
