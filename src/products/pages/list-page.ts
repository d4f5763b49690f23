/** The page of all products, divided into parts, with a search form. */
import { humanUrl } from '../descriptor.ts'
import type { Place } from '../place.ts'
import { priceText, pricingOf } from '../price.ts'
import type { Item, Shelf } from '../shelf.ts'
import { type Html, html, table } from './html.ts'
import { pageOf } from './page.ts'

type Part = {
  readonly shelf: Shelf
  readonly items: readonly Item[]
  readonly total: number
  readonly wanted: {
    readonly category: string | undefined
    readonly vendor: string | undefined
    readonly q: string
  }
  /** Queries of the neighbouring parts. */
  readonly previous: string | undefined
  readonly next: string | undefined
}

const chooser = (
  name: string,
  label: string,
  it: { readonly names: readonly string[]; readonly chosen: string | undefined },
): Html => html`<p><label for="${name}">${label}</label>
<select id="${name}" name="${name}">
<option value="">all</option>
${it.names.map((one) => (one === it.chosen ? html`<option value="${one}" selected>${one}</option>` : html`<option value="${one}">${one}</option>`))}
</select></p>`

const searchForm = ({
  shelf,
  wanted,
}: Part): Html => html`<form action="/products" method="get" role="search" aria-label="Products">
<p><label for="q">Words</label>
<input id="q" name="q" type="search" maxlength="200" autocomplete="off" value="${wanted.q}"></p>
${chooser('category', 'Category', { names: shelf.categories.map(([one]) => one), chosen: wanted.category })}
${chooser('vendor', 'Vendor', { names: shelf.vendors.map(([one]) => one), chosen: wanted.vendor })}
<p><button type="submit">Search</button></p>
</form>`

const turns = ({ previous, next }: Part): Html =>
  previous === undefined && next === undefined
    ? html``
    : html`<nav aria-label="Parts of the list"><ul>
${previous === undefined ? html`` : html`<li><a href="/products?${previous}" rel="prev">Previous</a></li>`}
${next === undefined ? html`` : html`<li><a href="/products?${next}" rel="next">Next</a></li>`}
</ul></nav>`

export const listPage = (part: Part, place: Place): string => {
  const { items, total } = part
  return pageOf({
    title: 'Products',
    description: `${total} models and tools behind one address and one key.`,
    place,
    path: '/products',
    json: `${place.base}/products.json`,
    main: html`<p>${total} products, each behind one address and one key. Programs read <a href="/products.json">products.json</a>.</p>
${searchForm(part)}
${table(
  'Products',
  ['Name', 'Id', 'Category', 'Price'],
  items.map((item) => [
    html`<a href="${humanUrl(item, place).slice(place.base.length)}">${item.name}</a>`,
    html`<code>${item.model.id}</code>`,
    item.category,
    priceText(pricingOf(item.model)),
  ]),
  true,
)}
${turns(part)}`,
  })
}
