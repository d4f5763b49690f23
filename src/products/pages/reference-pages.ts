/** The API reference for people: the content of openapi.json, with a page for each endpoint and one for all errors. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import type { Place } from '../place.ts'
import { code, type Html, html, marked, table } from './html.ts'
import { pageOf } from './page.ts'
import { schemaTable } from './schema-table.ts'

const objectAt = (value: Json | undefined, ...path: readonly string[]): JsonObject => {
  let at: Json | undefined = value
  for (const name of path) at = isObject(at) ? at[name] : undefined
  return isObject(at) ? at : {}
}
const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

type Operation = { readonly method: string; readonly path: string; readonly it: JsonObject }

/** Every endpoint of the reference. */
export const operationsOf = (document: JsonObject): readonly Operation[] =>
  Object.entries(objectAt(document, 'paths')).flatMap(([path, methods]) =>
    Object.entries(objectAt(methods)).map(([method, it]) => ({ method, path, it: objectAt(it) })),
  )

/** The address of an endpoint's page. */
export const pathTo = ({ method, path }: Operation): string =>
  `/reference/${method}${path.split('/').map(encodeURIComponent).join('/')}`

/** All endpoints on one page. */
export const referencePage = (document: JsonObject, place: Place): string =>
  pageOf({
    title: 'API reference',
    description: 'Every endpoint of this server.',
    place,
    path: '/reference',
    json: `${place.base}/openapi.json`,
    main: html`<p>Every endpoint of this server, at <code>${place.base}</code>. Programs read <a href="/openapi.json">openapi.json</a>. Errors are on <a href="/reference/errors">a page of their own</a>.</p>
${table(
  'Endpoints',
  ['Method', 'Path', 'What it does'],
  operationsOf(document).map((one) => [
    one.method.toUpperCase(),
    html`<a href="${pathTo(one)}">${one.path}</a>`,
    marked(text(one.it.summary)),
  ]),
  true,
)}`,
  })

const named = (document: JsonObject, schema: JsonObject): JsonObject => {
  const name = text(schema.$ref).split('/').at(-1) ?? ''
  return name === '' ? schema : objectAt(document, 'components', 'schemas', name)
}

/** The schemas of a body or an answer, by name; for a choice, all of them. */
const schemaTables = (document: JsonObject, title: string, content: JsonObject): readonly Html[] =>
  Object.entries(content).flatMap(([type, one]) => {
    const schema = named(document, objectAt(one, 'schema'))
    const options = Array.isArray(schema.anyOf) ? schema.anyOf : [schema]
    return options.map((option, at) => {
      const caption = options.length === 1 ? `${title} (${type})` : `${title} (${type}), form ${at + 1}`
      return schemaTable(caption, named(document, objectAt(option)))
    })
  })

const parameterTable = (parameters: Json | undefined): Html =>
  Array.isArray(parameters)
    ? table(
        'Parameters',
        ['Name', 'Where'],
        parameters.filter(isObject).map((one) => [html`<code>${text(one.name)}</code>`, text(one.in)]),
      )
    : html`<p>It has no parameters.</p>`

/** The page of an endpoint, by its method in lower case and its path; undefined if there is none. */
export const endpointPage = (document: JsonObject, address: string, place: Place): string | undefined => {
  const found = operationsOf(document).find(({ method, path }) => `${method}${path}` === address)
  if (found === undefined) return undefined
  const { method, path, it } = found
  const open = Array.isArray(it.security) && it.security.length === 0
  const answers = Object.entries(objectAt(it, 'responses')).filter(([status]) => status !== 'default')
  return pageOf({
    title: `${method.toUpperCase()} ${path}`,
    description: text(it.summary),
    place,
    path: pathTo(found),
    json: `${place.base}/openapi.json`,
    main: html`<p>${text(it.summary)}</p>
<p>${open ? 'It needs no key.' : html`It needs a key: <code>Authorization: Bearer sk-…</code>`}</p>
${code('Address', `${method.toUpperCase()} ${place.base}${path}`)}
<h2 id="parameters">Parameters</h2>
${parameterTable(it.parameters)}
<h2 id="body">Body</h2>
${it.requestBody === undefined ? html`<p>It takes no body.</p>` : schemaTables(document, 'Body', objectAt(it, 'requestBody', 'content'))}
<h2 id="answer">Answer</h2>
${answers.flatMap(([status, one]) => schemaTables(document, `Status ${status}`, objectAt(one, 'content')))}
<p>Errors: <a href="/reference/errors">all of them</a>.</p>`,
  })
}

export type ErrorRow = {
  readonly code: string
  readonly status: number
  readonly meaning: string
  readonly members: string
  /** Helper endpoints: which ones can return it. */
  readonly at?: string
}

/** Every error, by its code. */
export const errorsPage = (
  { errors, helpers }: { readonly errors: readonly ErrorRow[]; readonly helpers: readonly ErrorRow[] },
  place: Place,
): string =>
  pageOf({
    title: 'Errors',
    description: 'Every error of this server, with its HTTP status.',
    place,
    path: '/reference/errors',
    main: html`<p>The body of an error is <code>{"error": {"message", "type", "code", "request_id"}}</code> with further members by code.</p>
${table(
  'Errors by code',
  ['HTTP', 'Code', 'Meaning', 'Further members'],
  errors.map((one) => [
    String(one.status),
    html`<code id="${one.code}">${one.code}</code>`,
    one.meaning,
    one.members,
  ]),
)}
<h2 id="helpers">Helper endpoints</h2>
<p>Under <code>/api</code> the body is <code>{"error", "code", "message", "request_id"}</code>, where <code>error</code> is a text that stays.</p>
${table(
  'Errors of helper endpoints',
  ['Endpoint', 'HTTP', 'Error', 'Meaning', 'Further members'],
  helpers.map((one) => [
    one.at ?? '',
    String(one.status),
    html`<code>${one.code}</code>`,
    one.meaning,
    one.members,
  ]),
)}`,
  })
