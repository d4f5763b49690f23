/**
 * What the server says about itself at `/`: what it is, and where to go from here. A page for browsers, text for
 * others.
 */
import type { Place } from '../place.ts'
import { html } from './html.ts'
import { pageOf } from './page.ts'

const WHAT =
  'A metered gateway: models and tools of many vendors behind one address and one key. Each call tells its exact cost.'

const ways = [
  ['/products', 'what is sold, with prices and examples'],
  ['/quickstart', 'how clients and coding agents are set up'],
  ['/reference', 'the API reference; /openapi.json for programs'],
  ['/funding', 'how a key is had and funded'],
  ['/llms.txt', 'what agents read first; /mcp is the MCP server'],
  ['/api/status', 'whether the service is well'],
] as const

export const homePage = (place: Place): string =>
  pageOf({
    title: 'Turnpike',
    description: WHAT,
    place,
    path: '/',
    main: html`<p>${WHAT}</p>
<p>Clients are given the address <code>${place.base}/v1</code>; those of Anthropic and Google take <code>${place.base}</code>.</p>
<ul>
${ways.map(([address, what]) => html`<li><a href="${address}">${address}</a>: ${what}</li>`)}
</ul>`,
  })

export const homeText = ({ base }: Place): string =>
  [
    'Turnpike',
    WHAT,
    '',
    `Clients are given the address ${base}/v1; those of Anthropic and Google take ${base}`,
    '',
    ...ways.map(([address, what]) => `${base}${address}  ${what}`),
    '',
  ].join('\n')
