/** Finance in the browser: topping up by card with the keyboard alone, the saved card's rule, a pasted receipt. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { byTest } from '../by-test.ts'
import { chat, USD } from '../server/harness.ts'
import { type FakeStripe, startFakeStripe } from '../server/stripe-fake.ts'
import { tabTo } from './keyboard.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'

let browser: TestBrowser
let stripe: FakeStripe
let it: ListeningConsole
beforeAll(async () => {
  browser = await openBrowser()
  stripe = startFakeStripe({ pages: true })
  it = await listenConsole({ stripe: stripe.settings, receipts: 'header' })
})
afterAll(async () => {
  await browser.close()
  await it.stop()
  await stripe.stop()
})

const figure = (page: Page, amount: string) => page.getByText(`exactly ${amount} USD`)

test('a wallet is topped up by card, by keyboard alone, and the money is there when the payer comes back', async () => {
  const { page, errors, strangers } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'billing@example.com', 'billing')
  await tabTo(page, 'Wallet')
  await page.keyboard.press('Enter')
  await figure(page, '100').waitFor()
  await tabTo(page, 'Amount in USD')
  await page.keyboard.press('Control+A')
  await page.keyboard.type('12.5')
  await tabTo(page, 'Save the card for automatic top-ups')
  await page.keyboard.press('Space')
  await tabTo(page, 'Pay by card')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Pay $12.50' }).waitFor()
  expect(await page.getByText('By paying you allow us to keep this card').isVisible()).toBe(true)
  await page.keyboard.press('Enter')
  await page.getByText('$12.50 is paid').waitFor()
  await figure(page, '112.5').waitFor()
  expect(await it.balance()).toBe(112_500_000_000n)
  await page.getByRole('row').filter({ hasText: 'Top-up' }).filter({ hasText: '$12.50' }).waitFor()
  // The card was saved, so its rule can be set; the page shows it from the server.
  await page.getByLabel('When it falls below, in USD').fill('20')
  await page.getByLabel('Charge, in USD').fill('40')
  await page.getByRole('button', { name: 'Turn on' }).click()
  await page.getByRole('button', { name: 'Turn off' }).waitFor()
  expect((await it.store.wallets.walletRules(it.wallet)).rules.autoTopUp).toEqual({
    below: 20n * USD,
    amount: 40n * USD,
  })
  // Somebody else bounds it meanwhile; only what is changed here is sent.
  const bounded = { below: 20n * USD, amount: 40n * USD, monthlyMax: 80n * USD }
  await page.getByLabel('When it falls below, in USD').fill('25')
  await it.store.wallets.changeWalletRules(it.wallet, { autoTopUp: bounded }, byTest)
  await page.getByRole('button', { name: 'Save rule' }).click()
  await page.getByLabel('At most a month, in USD').and(page.locator('[value="80"]')).waitFor()
  const { autoTopUp } = (await it.store.wallets.walletRules(it.wallet)).rules
  expect(autoTopUp).toEqual({ ...bounded, below: 25n * USD })
  expect([errors, strangers]).toEqual([[], []])
})

test('a refused rule is told by the label of its field', async () => {
  const { page } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'rules@example.com', 'owner')
  await page.getByRole('link', { name: 'Rules' }).click()
  await page.getByLabel('Where warnings go').fill('http://hooks.example.com/')
  await page.getByRole('button', { name: 'Save rules' }).click()
  expect(await page.getByRole('alert').innerText()).toStartWith(
    '“Where warnings go” must begin with https://.',
  )
})

test('a payer who goes back without paying reads that, and nothing is credited', async () => {
  const { page } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'owner@example.com', 'owner')
  const before = await it.balance()
  await page.getByRole('link', { name: 'Wallet' }).click()
  await page.getByRole('button', { name: 'Pay by card' }).click()
  await page.getByRole('link', { name: 'Go back' }).click()
  await page.getByText('has not come in').waitFor()
  expect(await it.balance()).toBe(before)
})

test('an address of a payment that is none says what to do, and is asked for no more', async () => {
  const { page } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'owner@example.com', 'owner')
  let asked = 0
  page.on('request', (request) => {
    if (request.url().includes('/wallet/checkouts/')) asked++
  })
  await page.goto(`${it.address}/console/wallet?checkout=unknown`)
  const told = page.getByRole('alert').filter({ hasText: 'There is no such payment' })
  await told.waitFor()
  const before = asked
  // The page itself is asked for again every five seconds; so long nothing asks for the payment.
  const again = () => page.waitForResponse((response) => response.url().endsWith('/console/api/wallet'))
  await again()
  await again()
  expect(asked).toBe(before)
  await page.getByRole('button', { name: 'Close' }).click()
  await told.waitFor({ state: 'detached' })
  expect(new URL(page.url()).search).toBe('')
})

test('a receipt that is pasted is judged, and one that was changed is not valid', async () => {
  const { token } = await it.newKey()
  const call = await it.post('/v1/chat/completions', chat(), {}, token)
  const receipt = call.headers.get('x-receipt') ?? ''
  const { page } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'viewer@example.com', 'viewer')
  await page.getByRole('link', { name: 'Wallet' }).click()
  await page.getByRole('textbox', { name: 'Receipt' }).fill(`  ${receipt}\n`)
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByText('Valid', { exact: true }).waitFor()
  await page
    .getByRole('row')
    .filter({ hasText: call.headers.get('x-request-id') ?? 'none' })
    .first()
    .waitFor()
  await page.getByRole('textbox', { name: 'Receipt' }).fill(`${receipt.slice(0, -5)}AAAAA`)
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByText('did not sign it').waitFor()
  // A viewer sees the wallet and pays nothing.
  expect(await page.getByRole('button', { name: 'Pay by card' }).count()).toBe(0)
})
