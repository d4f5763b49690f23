/** The documents that are generated from tables in the code, as texts by path. */
import { recipes } from '../src/cli/recipes/index.ts'
import { pageOf } from '../src/cli/recipes/recipe.ts'
import { settings } from '../src/cli/settings.ts'
import { refusalTable } from '../src/core/refusal.ts'
import { helperTable } from '../src/http/helper-refusal.ts'
import { routes } from '../src/http/routes.ts'
import { vendors } from '../src/vendors/index.ts'
import { knowledgeOf } from './catalogue-knowledge.ts'
import { schemas } from './schemas.ts'

const generated = (title: string, table: string) =>
  `# ${title}\n\nGenerated from the code by \`npm run docs\`; do not edit.\n\n${table}\n`

const rowsOf = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [heads, heads.map(() => '---'), ...rows]
    .map((row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')

const errors = (): string =>
  generated(
    'Errors',
    `The body of an error is \`{ "error": { "message", "type", "code", … , "request_id" } }\`; further members by code are below.\n\n${rowsOf(
      ['HTTP', 'type', 'code', 'meaning', 'further members'],
      Object.entries(refusalTable).map(([code, row]) => [
        String(row.status),
        row.type,
        `\`${code}\``,
        row.meaning,
        'members' in row ? row.members : '',
      ]),
    )}\n\n${helperErrors()}`,
  )

/** What receipts can be besides good: 200, since that is the question. */
const verdicts = [
  ['malformed_jwt', 'It is no JWT of ours in form.'],
  [
    'signature_mismatch',
    'It was not issued here as it stands: tampered with, another key, issuer, time or type.',
  ],
  ['expired', 'It is older than 90 days; its claims are told.'],
] as const

const helperErrors = (): string => {
  const refusals = Object.entries(helperTable).map(([name, row]) => [
    row.at,
    `\`${'error' in row ? row.error : name}\``,
    String(row.status),
    `\`${'code' in row ? row.code : name}\``,
    row.meaning,
    'members' in row ? row.members : '',
  ])
  const receipts = verdicts.map(([error, meaning]) => [
    'POST /api/receipts/verify',
    `\`${error}\``,
    '200',
    '',
    `With \`valid\` false. ${meaning}`,
    '',
  ])
  const status = [
    'GET /api/status',
    '`degraded`',
    '200',
    '',
    'In `status`; see `services.*.error`, of which `services.api` is the server itself.',
    '',
  ]
  const addresses = [
    ...new Set(routes.filter(({ helper }) => helper === true).map(({ path }) => `\`${path}\``)),
  ]
  return `## Helper endpoints

At ${addresses.join(', ')} an error is \`{ "error", "code", "message", … , "request_id" }\`: \`error\` is always a
string and stable. It is one of those below, or the code of the table above, with its HTTP status and its further members.

${rowsOf(['endpoint', 'error', 'HTTP', 'code', 'meaning', 'further members'], [...refusals, ...receipts, status])}`
}

const settingsPage = (): string =>
  generated(
    'Settings',
    `${rowsOf(
      ['variable', 'default', 'meaning', 'allowed'],
      Object.values(settings).map(({ name, fallback, meaning, allowed }) => [
        `\`${name}\``,
        fallback === '' ? '' : `\`${fallback}\``,
        meaning,
        allowed,
      ]),
    )}\n\nEach vendor is turned on by its key variable, see vendors.md; \`<ID>_BASE_URL\` overrides its address. turnpike.example.yaml shows the file for everything else.`,
  )

const vendorsPage = (): string =>
  generated(
    'Vendors',
    `${rowsOf(
      ['id', 'vendor', 'key', 'address', 'speaks', 'surfaces', 'when the caller hangs up', 'models'],
      vendors.map((vendor) => [
        `\`${vendor.id}\``,
        vendor.name,
        `\`${vendor.keyVariable}\`${vendor.alsoNeeds === undefined ? '' : `, \`${vendor.alsoNeeds}\``}`,
        vendor.baseUrl || 'the operator’s own, see settings',
        vendor.asked === undefined ? (vendor.speaks ?? 'chat') : 'chat, responses',
        vendor.surfaces.join(', '),
        vendor.cancel === 'stop'
          ? 'the vendor is stopped; what was delivered is charged'
          : 'the stream is read on to its usage, bounded',
        vendor.catalogue === undefined ? 'from turnpike.yaml, with your prices' : 'from the price table',
      ]),
    )}\n\n## What no price table tells\n\n${factsOf()}`,
  )

/** What src/pricing/knowledge.json says of vendors' models, with its sources. */
const factsOf = (): string => {
  const facts = Object.entries(knowledgeOf).flatMap(([vendor, { cheaper = [], notSold = [], ends = [] }]) => [
    ...cheaper.map((one) => ({ ...one, vendor, what: `also in the cheaper tier \`${one.tier}\`` })),
    ...notSold.map((one) => ({ ...one, vendor, what: `not sold: ${one.why}` })),
    ...ends.map((one) => ({ ...one, vendor, what: `not sold from ${one.on} on` })),
  ])
  return rowsOf(
    ['vendor', 'models', 'what', 'source', 'noted'],
    facts.map(({ vendor, models, what, source, noted }) => [
      `\`${vendor}\``,
      models.map((model) => `\`${model}\``).join(', '),
      what,
      source,
      noted,
    ]),
  )
}

const openApi = (): string => {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = route.path.replace(/[:*](\w+)/g, '{$1}')
    const parameters = [
      ...[...route.path.matchAll(/[:*](\w+)/g)].map((match) => ({
        name: match[1],
        in: 'path',
        required: true,
        schema: { type: 'string' },
      })),
      ...(route.query ?? []).map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
      ...(route.headers ?? []).map((name) => ({ name, in: 'header', schema: { type: 'string' } })),
    ]
    const answer = {
      description: 'OK',
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${route.answer}` } } },
    }
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: {
        summary: route.summary,
        ...(parameters.length === 0 ? {} : { parameters }),
        ...(route.body === undefined
          ? {}
          : {
              requestBody: {
                required: true,
                content: { 'application/json': { schema: { $ref: `#/components/schemas/${route.body}` } } },
              },
            }),
        responses: {
          [route.status ?? 200]: answer,
          default: {
            description: 'An error; see errors.md',
            content: {
              'application/json': {
                schema: { $ref: `#/components/schemas/${route.helper === true ? 'HelperError' : 'Error'}` },
              },
            },
          },
        },
        security: route.auth === 'none' ? [] : [{ bearer: [] }],
      },
    }
  }
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Turnpike',
      version: '1',
      description: 'A metered gateway that puts every model vendor behind one address and one key.',
    },
    paths,
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } }, schemas },
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

export const generatedDocs = (): Readonly<Record<string, string>> => ({
  'docs/errors.md': errors(),
  'docs/settings.md': settingsPage(),
  'docs/vendors.md': vendorsPage(),
  'docs/openapi.json': openApi(),
  ...Object.fromEntries(
    recipes.map((recipe) => [
      `docs/clients/${recipe.name}.md`,
      pageOf(recipe, { address: 'http://127.0.0.1:8787', key: 'sk-…', model: recipe.model }),
    ]),
  ),
})
