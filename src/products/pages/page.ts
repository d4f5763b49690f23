/** The frame of all pages: head, navigation, style. No script, and nothing from other servers. */
import type { Place } from '../place.ts'
import { Html, html } from './html.ts'

/** The colours and shapes of the console. */
const STYLE = [
  ':root{color-scheme:light dark;--ink:#1b1f23;--dim:#5a6169;--line:#dfe3e6;--page:#fff;--soft:#f4f6f7;--pine:#0b7063;--on:#fff}',
  '@media(prefers-color-scheme:dark){:root{--ink:#d6d8da;--dim:#a9afb8;--line:#42464b;--page:#242424;--soft:#2e2e2e;--pine:#66c3b4;--on:#10211e}}',
  'body{margin:0;font:1rem/1.55 Inter,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:break-word;color:var(--ink);background:var(--page)}',
  'header{border-bottom:1px solid var(--line)}',
  'header>div,main{max-width:70rem;margin:0 auto;padding:.75rem 1rem}',
  'header>div{display:flex;flex-wrap:wrap;gap:.5rem 1.5rem;align-items:center}',
  'h1,h2,h3{line-height:1.25;font-weight:650}',
  'h2{margin-top:2rem;font-size:1.2rem}',
  'a{color:var(--pine)}',
  'header a{text-decoration:none}',
  '.brand{font-weight:700;font-size:1.1rem;color:var(--ink)}',
  'nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem;list-style:none;padding:0;margin:0}',
  'nav [aria-current]{font-weight:650}',
  'pre{min-width:max-content;margin:0;padding:.85rem 1rem;background:var(--soft);border:1px solid var(--line);border-radius:.5rem}',
  'code{font:.88em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}',
  'pre code{overflow-wrap:normal}',
  // A column is as wide as an id needs; what does not fit is moved sideways.
  'td code{overflow-wrap:break-word}',
  '@media(max-width:40rem){.list thead{display:none}.list tr{display:flex;flex-wrap:wrap;gap:0 .75rem;padding:.5rem 0;border-bottom:1px solid var(--line)}.list td{border:0;padding:0;overflow-wrap:anywhere}.list td:last-child{flex-basis:100%}}',
  '.wide{overflow:auto;margin:1rem 0}',
  'table{border-collapse:collapse;width:100%}',
  'caption{text-align:left;font-weight:650;padding-bottom:.25rem}',
  'th{font-size:.8rem;color:var(--dim)}',
  'th,td{text-align:left;vertical-align:top;padding:.4rem .75rem .4rem 0;border-bottom:1px solid var(--line)}',
  'form{display:flex;flex-wrap:wrap;gap:.75rem;align-items:end}',
  'form p{margin:0}',
  'label{display:block;font-weight:600;font-size:.9rem}',
  'input,select,button{font:inherit;box-sizing:border-box;height:2.4rem;padding:.35rem .7rem;border:1px solid var(--line);border-radius:.5rem;background:var(--page);color:var(--ink)}',
  'button{background:var(--pine);border-color:var(--pine);color:var(--on);font-weight:600}',
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
  readonly place: Pick<Place, 'base' | 'console'>
  /** Its own address, after that of the server. */
  readonly path: string
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

const linkTo = (path: string, [address, name]: readonly [string, string]): Html =>
  path === address
    ? html`<li><a href="${address}" aria-current="page">${name}</a></li>`
    : html`<li><a href="${address}">${name}</a></li>`

/** The whole document. */
export const pageOf = ({ title, description, place, path, json, main }: Page): string =>
  html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${cut(title, TITLE_MOST)} - Turnpike</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${cut(description, DESCRIPTION_MOST)}">
<link rel="canonical" href="${place.base}${path}">
${json === undefined ? html`` : html`<link rel="alternate" type="application/json" href="${json}">`}
<style>${new Html(STYLE)}</style>
</head>
<body>
<header>
<div>
<a class="brand" href="/">Turnpike</a>
<nav aria-label="Main">
<ul>
${[...links, ...(place.console ? ([['/console', 'Console']] as const) : [])].map((link) => linkTo(path, link))}
</ul>
</nav>
${path === '/search' ? html`` : html`<form action="/search" method="get" role="search" aria-label="All pages"><input name="q" type="search" maxlength="200" aria-label="Search all pages" placeholder="Search"><button type="submit">Search</button></form>`}
</div>
</header>
<main>
<h1>${title}</h1>
${main}
</main>
</body>
</html>
`.text
