/** The documents that are generated from tables in the code, as texts by path. */

import { localMedia } from '../packages/local-media/src/index.ts'
import { refusalTable } from '../src/core/refusal-table.ts'
import { helperTable } from '../src/http/answer/helper-refusal.ts'
import { referenceOf } from '../src/http/pages/reference.ts'
import { routes } from '../src/http/routes.ts'
import { recipes } from '../src/products/recipes/index.ts'
import { pageOf } from '../src/products/recipes/recipe.ts'
import { settings } from '../src/settings/index.ts'
import { rowsOf as settingsOf } from '../src/settings/setting.ts'
import { vendors } from '../src/vendors/index.ts'
import { local } from '../src/vendors/local/local.ts'
import { vendorMedia } from '../src/vendors/local/media.ts'
import type { Vendor } from '../src/vendors/vendor.ts'
import { knowledgeOf } from './catalogue-knowledge.ts'
import { conditionsPage } from './conditions-page.ts'
import { mediaPage } from './media-page.ts'

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

/** The bad verdicts on receipts: the status is 200, because the verdict is the answer. */
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
      settingsOf(settings).map(({ name, fallback = '', meaning, is }) => [
        `\`${name}\``,
        fallback === '' ? '' : `\`${fallback}\``,
        meaning,
        is.allowed,
      ]),
    )}\n\nEach vendor is turned on by its key variable, see vendors.md; \`<ID>_BASE_URL\`, or what its own clients call it (\`GEMINI_BASE_URL\`, \`GOOGLE_GEMINI_BASE_URL\`, \`AZURE_OPENAI_ENDPOINT\` …), overrides its address. A file may hold a secret instead; the variable with \`_FILE\` behind its name gives its path (\`OPENAI_API_KEY_FILE\`, \`DATABASE_URL_FILE\`, \`TURNPIKE_SECRET_FILE\` …). turnpike.example.yaml shows the file with all other settings.`,
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
        speaksOf(vendor),
        [...vendor.surfaces, ...categoriesOf(vendor)].join(', '),
        vendor.cancel === 'stop'
          ? 'we stop the vendor and charge what was delivered'
          : 'we read on to the usage, within bounds, and charge it',
        modelsOf(vendor),
      ]),
    )}\n\n## What no price table says\n\n${factsOf()}`,
  )

const speaksOf = ({ requestStyleOf, speaks = 'chat', surfaces }: Vendor): string =>
  surfaces.length === 0 ? 'its own' : requestStyleOf === undefined ? speaks : 'chat, responses'

const categoriesOf = ({ media }: Vendor): readonly string[] => [
  ...new Set((media?.models ?? []).map(({ category }) => category)),
]

const modelsOf = ({ catalogue, media, surfaces }: Vendor): string => {
  const products = media === undefined ? [] : ['see media.md']
  if (surfaces.length === 0) return products.join('')
  const chat = catalogue === undefined ? 'from turnpike.yaml, with your prices' : 'from the price table'
  return [chat, ...products].join('; ')
}

/** The facts about vendors' models in src/pricing/knowledge.json, with their sources. */
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

export const generatedDocs = (): Readonly<Record<string, string>> => ({
  'docs/errors.md': errors(),
  'docs/settings.md': settingsPage(),
  'docs/vendors.md': vendorsPage(),
  'docs/media.md': generated(
    'Products that are not chat',
    mediaPage([{ ...local, media: vendorMedia(localMedia(() => true).products) }, ...vendors], rowsOf),
  ),
  'docs/conditions.md': generated('Conditions', conditionsPage([local, ...vendors], rowsOf)),
  'docs/openapi.json': `${JSON.stringify(referenceOf(routes), null, 2)}\n`,
  ...Object.fromEntries(
    recipes.map((recipe) => [
      `docs/clients/${recipe.name}.md`,
      pageOf(recipe, { address: 'http://127.0.0.1:8787', key: 'sk-…', model: recipe.model }),
    ]),
  ),
})
