/** The frame of all pages: head, navigation, style. No script, and nothing from other servers. */
import { Html, html } from './html.ts'

const STYLE = [
  ':root{color-scheme:light dark}',
  'body{margin:0 auto;max-width:60rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif;overflow-wrap:break-word;color:#1b1b1b;background:#fff}',
  'a{color:#0b4fb3}',
  'nav ul{display:flex;flex-wrap:wrap;gap:1rem;list-style:none;padding:0}',
  'pre{min-width:max-content;margin:0;padding:.75rem;background:#f3f3f3;border-radius:.25rem}',
  'code{font:.9em ui-monospace,monospace;overflow-wrap:anywhere}',
  'pre code{overflow-wrap:normal}',
  '.wide{overflow:auto;margin:1rem 0}',
  'table{border-collapse:collapse;width:100%}',
  'caption{text-align:left;font-weight:600}',
  'th,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #ccc}',
  'form{display:flex;flex-wrap:wrap;gap:.75rem;align-items:end}',
  'label{display:block}',
  'input,select,button{font:inherit;padding:.25rem .5rem}',
  '@media(prefers-color-scheme:dark){body{color:#eee;background:#151515}a{color:#8ab8ff}pre{background:#262626}th,td{border-color:#444}}',
].join('\n')

const styleHash = new Bun.CryptoHasher('sha256').update(STYLE).digest('base64')

/** What a page may do: use its single style, and send its forms to this server. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

const TITLE_MOST = 55
const DESCRIPTION_MOST = 300

const cut = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text

type Page = {
  readonly title: string
  readonly description: string
  /** Its own address. */
  readonly url: string
  /** The address of the same content as JSON. */
  readonly json?: string
  readonly main: Html
}

const links = [
  ['/products', 'Products'],
  ['/quickstart', 'Quickstarts'],
  ['/reference', 'API reference'],
  ['/funding', 'Keys and funding'],
  ['/llms.txt', 'For agents'],
] as const

/** The whole document. */
export const pageOf = ({ title, description, url, json, main }: Page): string =>
  html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${cut(title, TITLE_MOST)} - Turnpike</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${cut(description, DESCRIPTION_MOST)}">
<link rel="canonical" href="${url}">
${json === undefined ? html`` : html`<link rel="alternate" type="application/json" href="${json}">`}
<style>${new Html(STYLE)}</style>
</head>
<body>
<header>
<nav aria-label="Main">
<ul>
${links.map(([address, name]) => html`<li><a href="${address}">${name}</a></li>`)}
</ul>
</nav>
</header>
<main>
<h1>${title}</h1>
${main}
</main>
</body>
</html>
`.text
