/** The addresses that show products: as JSON and text for agents, as pages for people. They need no key. */

import type { Route } from '../route/route.ts'
import { page, plainText, productContext, productDescriptor, productList } from '../schema/products.ts'
import {
  getFundingPage,
  getHome,
  getListPage,
  getLlmsText,
  getProduct,
  getQuickstart,
  getQuickstarts,
  getRobots,
  getSiteMap,
} from './pages.ts'
import { getContext, listProducts, productQuery } from './products.ts'

const open = { method: 'GET', auth: 'none' } as const
const asPage = { ...open, answer: page, answerType: 'text/html' } as const
const asText = { ...open, answer: plainText, answerType: 'text/plain' } as const

export const productRoutes: readonly Route[] = [
  {
    ...asPage,
    path: '/',
    summary: 'What this server is, and where to go from here; plain text unless the request asks for HTML.',
    handler: getHome,
  },
  {
    ...open,
    path: '/products.json',
    summary: 'The products sold here, with prices; by category, vendor and words, in pages.',
    answer: productList,
    query: productQuery,
    handler: listProducts,
  },
  {
    ...asPage,
    path: '/products',
    summary: 'The same, for people.',
    query: productQuery,
    handler: getListPage,
  },
  {
    ...open,
    path: '/products/context.jsonld',
    summary: 'The JSON-LD vocabulary of descriptors.',
    answer: productContext,
    answerType: 'application/ld+json',
    handler: getContext,
  },
  {
    ...open,
    path: '/products/*rest',
    summary:
      'A product: `<id>/product.json` or `<id>.json` is its descriptor, `<id>` alone its page for people.',
    answer: productDescriptor,
    handler: getProduct,
  },
  { ...asPage, path: '/funding', summary: 'How to get and fund a key.', handler: getFundingPage },
  { ...asPage, path: '/quickstart', summary: 'How to set up clients.', handler: getQuickstarts },
  { ...asPage, path: '/quickstart/:client', summary: 'How to set up one client.', handler: getQuickstart },
  { ...asText, path: '/llms.txt', summary: 'What agents should read first.', handler: getLlmsText },
  { ...asText, path: '/robots.txt', summary: 'What crawlers may read.', handler: getRobots },
  {
    ...asText,
    path: '/sitemap.xml',
    summary: 'The addresses of all pages.',
    answerType: 'application/xml',
    handler: getSiteMap,
  },
]
