/**
 * The console's pages: one page for all addresses, which calls the API, with its script and style as they were bundled.
 */
import { randomBytes } from 'node:crypto'
import { type Bundle, bundleOf } from '../../console/bundle.ts'
import { otherCells } from '../../console/cells/others.ts'
import { consoleOf } from '../../console/open-console.ts'
import { refuse } from '../../core/refusal.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Handler, HttpCall } from '../route/route.ts'

const encoder = new TextEncoder()

/** Scripts and styles come only from here; the page contacts no other server and cannot be framed. */
const policyOf = (nonce: string, consoles: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "media-src 'self' data: blob:",
    "connect-src 'self'",
    // People who choose an organisation of another cell bring a form there.
    ["form-action 'self'", ...consoles].join(' '),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const guards = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}

const pageOf = ({ script, style, first }: Bundle, nonce: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="csp-nonce" content="${nonce}">
<meta name="color-scheme" content="light dark">
<title>Turnpike</title>
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%230c7c6f'/%3E%3Cpath d='M7 11h18M7 16h18M16 11v13' stroke='white' stroke-width='3' stroke-linecap='round'/%3E%3C/svg%3E">
<link rel="stylesheet" href="/console/files/${style}">
${first.map((name) => `<link rel="modulepreload" href="/console/files/${name}">`).join('\n')}
</head>
<body><div id="root"></div><noscript>The console needs JavaScript.</noscript>
<script type="module" src="/console/files/${script}"></script></body>
</html>
`

export const getConsolePage: Handler = async (gateway, { params }) => {
  consoleOf(gateway)
  // A program that asks the API for what it has not would read a page as an answer.
  if (params.rest?.startsWith('api/') === true) throw refuse('not_found', 'There is nothing at this address.')
  const consoles = otherCells(gateway).map(({ console }) => console)
  const nonce = randomBytes(16).toString('base64url')
  return {
    status: 200,
    headers: {
      ...guards,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policyOf(nonce, consoles),
      'cache-control': 'no-store',
    },
    body: encoder.encode(pageOf(await bundleOf(), nonce)),
  }
}

/** A file of the bundle. Its name changes with its content, so it may be cached for ever. */
export const getConsoleFile: Handler = async (gateway, call: HttpCall): Promise<Answer> => {
  consoleOf(gateway)
  const { files } = await bundleOf()
  const file = files.get(call.params.name ?? '')
  if (file === undefined) throw refuse('not_found', 'There is no such file.')
  const zipped = /\bgzip\b/.test(call.request.headers.get('accept-encoding') ?? '')
  return {
    status: 200,
    headers: {
      ...guards,
      'content-type': file.type,
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
      ...(zipped ? { 'content-encoding': 'gzip' } : {}),
    },
    body: zipped ? file.zipped : file.plain,
  }
}
