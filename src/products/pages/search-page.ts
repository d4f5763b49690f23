/** What the public pages say about some words: products, quickstarts, endpoints and errors. */
import type { JsonObject } from '../../core/json-body.ts'
import { humanUrl } from '../descriptor.ts'
import type { Place } from '../place.ts'
import { recipes } from '../recipes/index.ts'
import { found, type Shelf } from '../shelf.ts'
import { type Html, html, marked } from './html.ts'
import { pageOf } from './page.ts'
import { type ErrorRow, operationsOf, pathTo } from './reference-pages.ts'

type Hit = { readonly address: string; readonly name: string; readonly what: string }

/** Of each kind at most. */
const MOST = 30

type Searched = {
  readonly shelf: Shelf
  readonly document: JsonObject
  readonly errors: readonly ErrorRow[]
}

/** By kind, those that have all the words. */
const hitsOf = ({ shelf, document, errors }: Searched, q: string, place: Place) => {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  const has = ({ address, name, what }: Hit) =>
    words.every((word) => `${address} ${name} ${what}`.toLowerCase().includes(word))
  const products = found(shelf, { q }).map((item) => ({
    address: humanUrl(item, place).slice(place.base.length),
    name: item.name,
    what: item.description,
  }))
  const clients = recipes.map(({ name, title, calls }) => ({
    address: `/quickstart/${name}`,
    name: title,
    what: `calls ${calls}`,
  }))
  const endpoints = operationsOf(document).map((one) => ({
    address: pathTo(one),
    name: `${one.method.toUpperCase()} ${one.path}`,
    what: String(one.it.summary ?? ''),
  }))
  const refusals = errors.map(({ code, status, meaning }) => ({
    address: `/reference/errors#${code}`,
    name: code,
    what: `${status}: ${meaning}`,
  }))
  return [
    ['Products', products],
    ['Quickstarts', clients.filter(has)],
    ['Endpoints', endpoints.filter(has)],
    ['Errors', refusals.filter(has)],
  ] as const
}

const partOf = (title: string, hits: readonly Hit[]): Html => html`<h2>${title}</h2>
<ul>
${hits.slice(0, MOST).map(({ address, name, what }) => html`<li><a href="${address}">${name}</a>: ${marked(what)}</li>`)}
</ul>
${hits.length > MOST ? html`<p>${hits.length - MOST} more; add a word.</p>` : html``}`

export const searchPage = (it: Searched, q: string, place: Place): string => {
  const parts = q.trim() === '' ? [] : hitsOf(it, q, place).filter(([, hits]) => hits.length > 0)
  return pageOf({
    title: 'Search',
    description: 'Products, quickstarts, endpoints and errors of this server.',
    place,
    path: '/search',
    main: html`<form action="/search" method="get" role="search">
<p><label for="q">Words</label>
<input id="q" name="q" type="search" maxlength="200" value="${q}"></p>
<p><button type="submit">Search</button></p>
</form>
${parts.map(([title, hits]) => partOf(title, hits))}
${q.trim() !== '' && parts.length === 0 ? html`<p>Nothing has these words.</p>` : html``}`,
  })
}
