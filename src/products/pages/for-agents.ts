/** What programs read first: llms.txt, robots.txt, sitemap.xml. */
import { humanUrl } from '../descriptor.ts'
import type { Place } from '../place.ts'
import { recipes } from '../recipes/index.ts'
import type { Shelf } from '../shelf.ts'
import { escaped } from './html.ts'

const payment = ({ base, trial, x402, signUpUrl }: Place): readonly string[] => [
  ...(trial === undefined
    ? []
    : [
        `- [Claim a trial](${base}/api/try/anonymous-wallet): POST without a body or key gives \`api_key\`, a wallet with ${trial.usd} USD for ${trial.days} days; once for each network address`,
      ]),
  ...(signUpUrl === undefined ? [] : [`- [Sign up](${signUpUrl}): where people get a key`]),
  ...(x402
    ? [
        `- Without a key: send \`X-Payment-Protocol: x402\`; the answer 402 quotes the price, and the call is sent again with its payment`,
      ]
    : []),
  `- [Keys and funding](${base}/funding)`,
]

/** A guide for agents, by the convention of llmstxt.org. */
export const llmsText = ({ categories }: Shelf, place: Place): string => {
  const { base } = place
  return `${[
    '# Turnpike',
    '',
    '> A metered gateway: models and tools of many vendors behind one address and one key. Calls are charged to the nano-dollar, with a signed receipt for each.',
    '',
    'How to use it: take a product from the list, read its `product.json`, send `{"model": <id>, "inputs": {…}}` by POST to its `endpoint` with `Authorization: Bearer <key>`. `input_schema` says what `inputs` takes, `pricing.max_usd` what its example can cost, `example_curl` how it is sent. A repeat with the same `Idempotency-Key` is charged once. The header `X-Max-Cost-Usd` is a ceiling for one call. The answer tells its cost in `X-Cost-Usd` and its receipt in `X-Receipt`.',
    '',
    '## Products',
    '',
    `- [All products](${base}/products.json): in pages, \`next\` leads on; also by \`?q=<words>\` and \`?vendor=\``,
    ...categories.map(
      ([name, count]) => `- [Products: ${name}](${base}/products.json?category=${name}): ${count}`,
    ),
    '',
    '## Key and money',
    '',
    ...payment(place),
    `- [Verify a receipt](${base}/api/receipts/verify): POST \`{"receipt": <X-Receipt>}\` with the key; or by yourself with the [public keys](${base}/.well-known/jwks.json)`,
    `- [Balance](${base}/v1/key/wholesale/me/usage): GET with the key; \`data.remaining_usd\` is what calls may still cost, \`data.limited_by\` what bounds it`,
    `- [Usage](${base}/v1/usage): GET with the key; what was charged, by day and model`,
    '',
    '## Tools',
    '',
    `- [MCP server](${base}/mcp): streamable HTTP, the same key as bearer; \`?category=image\` or \`?tools=<id>,<id>\` chooses products`,
    '',
    '## Reference',
    '',
    `- [OpenAPI](${base}/openapi.json)`,
    `- [API reference](${base}/reference)`,
    `- [Errors](${base}/reference/errors)`,
    `- [Health](${base}/api/status)`,
    '',
    '## Quickstarts',
    '',
    ...recipes.map(({ name, title }) => `- [${title}](${base}/quickstart/${name})`),
  ].join('\n')}\n`
}

/** Crawlers may read the pages but not make calls. */
export const robotsText = ({ base }: Place): string =>
  [
    'User-agent: *',
    'Disallow: /v1/',
    'Disallow: /v1beta/',
    'Disallow: /api/',
    '',
    `Sitemap: ${base}/sitemap.xml`,
    '',
  ].join('\n')

/** Addresses of all pages, in the sitemaps.org protocol. */
export const siteMap = ({ items, madeAt }: Shelf, place: Place): string => {
  const pages = ['/', '/products', '/quickstart', '/reference', '/reference/errors', '/funding']
  const all = [
    ...pages.map((path) => place.base + path),
    ...recipes.map(({ name }) => `${place.base}/quickstart/${name}`),
    ...items.map((item) => humanUrl(item, place)),
  ]
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${all.map((url) => `<url><loc>${escaped(url)}</loc><lastmod>${madeAt}</lastmod></url>`).join('\n')}
</urlset>
`
}
