/** The page of one product: its price, its inputs, a first call, and how to get a key. */

import { descriptorOf, descriptorUrl, humanUrl } from '../descriptor.ts'
import { BEARER, curlOf, programsOf } from '../example.ts'
import type { Place } from '../place.ts'
import { decimal, priceText } from '../price.ts'
import type { Item, Shelf } from '../shelf.ts'
import { code, type Html, html, table } from './html.ts'
import { keySection } from './key-section.ts'
import { pageOf } from './page.ts'
import { schemaTable } from './schema-table.ts'

type Descriptor = ReturnType<typeof descriptorOf>
type Pricing = Descriptor['pricing']

const conditionOf = ({ when, above_input_tokens: above }: Pricing['rows'][number]): string => {
  if (above !== undefined) return `more than ${above.toLocaleString('en')} input tokens`
  const parts = Object.entries(when ?? {}).map(
    ([name, value]) => `${name}: ${(Array.isArray(value) ? value : [value]).map(String).join(', ')}`,
  )
  return parts.length === 0 ? 'all other calls' : parts.join('; ')
}

const priceTable = ({ rows }: Pricing): Html =>
  table(
    'USD for one unit',
    ['Where', 'Unit', 'USD'],
    rows.flatMap((row) =>
      Object.entries(row.rates).map(([unit, usd]) => [
        rows.length === 1 ? 'every call' : conditionOf(row),
        unit,
        usd,
      ]),
    ),
  )

export const productPage = (shelf: Shelf, item: Item, place: Place): string => {
  const { model, name, description, category } = item
  const one = descriptorOf(shelf, item, place)
  const { python, typescript, go } = programsOf(model, place)
  const json = descriptorUrl(item, place)
  return pageOf({
    title: name,
    description: `${description} ${priceText(one.pricing)}.`,
    place,
    path: humanUrl(item, place).slice(place.base.length),
    json,
    main: html`<p>${description}</p>
<ul>
<li>Id: <code>${model.id}</code></li>
<li>Category: <a href="/products?category=${category}">${category}</a></li>
<li>Vendor: <a href="/products?vendor=${encodeURIComponent(model.vendor)}">${model.vendor}</a></li>
<li>Can: ${one.capabilities.join(', ')}</li>
<li>Tool of agents (MCP): <code>${item.tool}</code></li>
<li>For programs: <a href="${json}">product.json</a></li>
</ul>
<h2 id="price">Price</h2>
<p>${priceText(one.pricing)}. The example below costs at most ${decimal(one.pricing.max_usd)} USD: that much is held, and what it used is charged.</p>
${priceTable(one.pricing)}
<h2 id="inputs">Inputs</h2>
${schemaTable('Inputs', one.input_schema)}
<h2 id="examples">Examples</h2>
<h3>curl</h3>
${code('curl', curlOf(model, place, BEARER))}
<h3>Python</h3>
${code('Python', python)}
<h3>TypeScript</h3>
${code('TypeScript', typescript)}
<h3>Go</h3>
${code('Go', go)}
${place.console ? html`<p><a href="/console/playground?model=${encodeURIComponent(model.id)}">Run it in the playground</a>, if you have an account.</p>` : html``}
${keySection(place)}`,
  })
}
