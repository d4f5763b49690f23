/** A page for each client: its recipe, filled in with this server's address. The same text as `turnpike connect`. */
import type { Model } from '../../core/model.ts'
import { programsOf } from '../example.ts'
import type { Place } from '../place.ts'
import { recipes } from '../recipes/index.ts'
import type { Recipe } from '../recipes/recipe.ts'
import { code, html, marked, table } from './html.ts'
import { keySection } from './key-section.ts'
import { pageOf } from './page.ts'

/** A placeholder for the caller's key. */
const KEY = 'sk-…'

export const recipeNamed = (name: string): Recipe | undefined => recipes.find((one) => one.name === name)

export const quickstartsPage = (place: Place): string =>
  pageOf({
    title: 'Quickstarts',
    description: 'How clients and coding agents are pointed at this server.',
    place,
    path: '/quickstart',
    main: html`<p>Each client needs this server's address and a key.</p>
${table(
  'Clients',
  ['Client', 'Calls'],
  recipes.map(({ name, title, calls }) => [
    html`<a href="/quickstart/${name}">${title}</a>`,
    html`<code>${calls}</code>`,
  ]),
)}`,
  })

/** `model` is a model that is sold here; without one there is no program for it. */
export const quickstartPage = (
  recipe: Recipe,
  model: string,
  sold: Model | undefined,
  place: Place,
): string => {
  const { name, title, install, calls, notes = [] } = recipe
  const { variables, files = [], first } = recipe.fill({ address: place.base, key: KEY, model })
  return pageOf({
    title,
    description: `How ${title} is pointed at this server.`,
    place,
    path: `/quickstart/${name}`,
    main: html`<p>It calls <code>${calls}</code>. Install it:</p>
${code('Install', install)}
<h2 id="address">Address and key</h2>
${variables.length === 0 ? html`` : code('Variables', variables.join('\n'))}
${files.map(({ path, text }) => html`<p>Put this into <code>${path}</code>:</p>\n${code(path, text)}`)}
<h2 id="first">A first session</h2>
${code('First session', first)}
${sold === undefined ? html`` : html`<h2 id="python">The same model in Python</h2>\n${code('Python', programsOf(sold, place).python)}`}
${notes.map((note) => html`<p>${marked(note)}</p>`)}
${keySection(place)}`,
  })
}
