/** How to get a key and fund a wallet on this server. */
import type { Place } from '../place.ts'
import { code, type Html, html } from './html.ts'
import { pageOf } from './page.ts'

/** Claims a trial and shows the key. */
const trialCommand = ({ base }: Place): string => `curl -sS -X POST '${base}/api/try/anonymous-wallet'`

const trialText = (place: Place): Html => {
  const { trial } = place
  if (trial === undefined) return html`<p>There are no anonymous trials on this server.</p>`
  return html`<p>A trial needs no name: once for each network address a wallet with ${trial.usd} USD, for ${trial.days} days. The answer's <code>api_key</code> is the key.</p>
${code('Claim a trial', trialCommand(place))}`
}

const signUpText = ({ signUpUrl }: Place): Html =>
  signUpUrl === undefined
    ? html`<p>A key of your own comes from the operator of this server.</p>`
    : html`<p>A key of your own: <a href="${signUpUrl}">sign up</a>.</p>`

/** A section of a page. */
export const keySection = (place: Place): Html => html`<h2 id="key">Get a key</h2>
${trialText(place)}
${signUpText(place)}
<p>Put it into <code>TURNPIKE_KEY</code>. More: <a href="/funding">keys and funding</a>.</p>`

/** The page that `funding_url` links to. */
export const fundingPage = (place: Place): string =>
  pageOf({
    title: 'Keys and funding',
    description: 'How a key is had, and how calls are paid for.',
    place,
    path: '/funding',
    main: html`<h2 id="trial">Trial</h2>
${trialText(place)}
<h2 id="key">A key of your own</h2>
${signUpText(place)}
<h2 id="wallet">Wallet</h2>
<p>Calls are paid from the wallet of the key: what a call can cost at most is held, what it cost is charged, and a signed receipt says so.</p>
${
  place.cards
    ? html`<p>By card: <code>POST /api/wallet/checkout</code> with the key opens a checkout.</p>`
    : html`<p>This server takes no cards: its operator funds wallets.</p>`
}
<h2 id="x402">Call by call</h2>
${
  place.x402
    ? html`<p>Without a key: send the call with <code>X-Payment-Protocol: x402</code>. The first answer (402) quotes the price; send the call again with its payment.</p>`
    : html`<p>This server takes no payments call by call (x402).</p>`
}
<h2 id="mpp">Post-paid</h2>
<p>Accounts with a credit line send <code>X-Payment-Protocol: mpp</code>; months are billed.</p>`,
  })
