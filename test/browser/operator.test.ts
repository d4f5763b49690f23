/** An operator at night: finds an account, gives it credit, suspends it and lets it go on, sees which vendor fails, acts for somebody. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Route } from 'playwright-core'
import { byTest } from '../by-test.ts'
import { chat, completion, jsonOf, USD } from '../server/harness.ts'
import { until } from '../until.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'

let browser: TestBrowser
let it: ListeningConsole
beforeAll(async () => {
  browser = await openBrowser()
  it = await listenConsole()
  for (const name of ['Birch Works', 'Cedar & Co'])
    await it.store.wallets.createWallet({ id: `wal_${name[0]}`, orgId: `org_${name[0]}`, name }, byTest)
})
afterAll(async () => {
  await browser.close()
  await it.stop()
})

const size = { viewport: { width: 1440, height: 900 } }

const call = async (token: string): Promise<string | number> => {
  const response = await it.post('/v1/chat/completions', chat(), {}, token)
  return response.status === 200 ? 200 : (await jsonOf(response)).error.code
}

test('what an operator may do to an account is all on a screen of 1280 pixels', async () => {
  const orgId = `org_${'0123456789abcdef'.repeat(2)}`
  await it.store.wallets.createWallet({ id: 'wal_long', orgId, name: 'Dogwood Manufacturing' }, byTest)
  const { page } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'operator@example.com', 'owner', true)
  await page.getByRole('link', { name: 'Accounts' }).click()
  await page.getByRole('button', { name: 'Act for' }).first().waitFor()
  const hidden = await page.evaluate(
    `(() => { const box = document.querySelector('.table-box'); return box.scrollWidth - box.clientWidth })()`,
  )
  expect(hidden).toBe(0)
})

test('credit, a credit line and a suspension are given in the browser, hold at once, and are recorded', async () => {
  const { page, errors } = await browser.newPage(size)
  await it.enter(page, 'operator@example.com', 'owner', true)
  const { token } = await it.newKey()
  await page.getByRole('link', { name: 'Accounts' }).click()
  await page.getByLabel('Search accounts').fill('test')
  await page.getByText('Birch Works').waitFor({ state: 'detached' })
  const row = page.getByRole('row').filter({ hasText: 'org_test' })
  const dialog = page.getByRole('dialog')

  await row.getByRole('button', { name: 'Give credit' }).click()
  await dialog.getByLabel('Amount in USD').fill('12.345678901')
  await dialog.getByLabel('What for').fill('an outage')
  await dialog.getByRole('button', { name: 'Give credit' }).click()
  await dialog.waitFor({ state: 'detached' })
  // Exact to the nano-dollar, even where it is shown in cents.
  await row.locator('[title="112.345678901 USD"]').waitFor()
  expect(await it.balance()).toBe(112n * USD + 345_678_901n)

  await row.getByRole('button', { name: 'Credit line' }).click()
  await dialog.getByLabel('Limit in USD').fill('30')
  await dialog.getByRole('button', { name: 'Grant' }).click()
  await dialog.waitFor({ state: 'detached' })
  await row.getByText('and $30.00 credit').waitFor()

  expect(await call(token)).toBe(200)
  await row.getByRole('button', { name: 'Suspend' }).click()
  await dialog.getByLabel('Reason').fill('unpaid invoices')
  await dialog.getByRole('button', { name: 'Suspend' }).click()
  await dialog.waitFor({ state: 'detached' })
  await row.getByText('Suspended').waitFor()
  expect(await call(token)).toBe('account_suspended')
  await row.getByRole('button', { name: 'Resume' }).click()
  await dialog.getByText('unpaid invoices').waitFor()
  await dialog.getByRole('button', { name: 'Lift the suspension' }).click()
  await dialog.waitFor({ state: 'detached' })
  await row.getByText('Active').waitFor()
  expect(await call(token)).toBe(200)

  // Its people can read who did what.
  const owner = await browser.newPage(size)
  await it.enter(owner.page, 'owner@example.com', 'owner')
  await owner.page.getByRole('link', { name: 'Activity' }).click()
  for (const [what, detail] of [
    ['gave credit', '12.345678901'],
    ['set the credit line', '$30'],
    ['suspended the organisation', 'unpaid invoices'],
    ['lifted the suspension of the organisation', ''],
  ] as const)
    await owner.page
      .getByRole('row')
      .filter({ hasText: 'operator@example.com' })
      .filter({ hasText: what })
      .filter({ hasText: detail })
      .first()
      .waitFor()
  expect([errors, owner.errors]).toEqual([[], []])
})

test('credit to whose first try no answer came is not given twice, and again only when it is asked for again', async () => {
  const { page } = await browser.newPage(size)
  // As where the address is not secure.
  await page.addInitScript('delete Crypto.prototype.randomUUID')
  await it.enter(page, 'operator@example.com', 'owner', true)
  await page.getByRole('link', { name: 'Accounts' }).click()
  await page.getByLabel('Search accounts').fill('test')
  await page.getByText('Birch Works').waitFor({ state: 'detached' })
  const row = page.getByRole('row').filter({ hasText: 'org_test' })
  const before = await it.balance()
  const given = async () => ((await it.balance()) - before) / USD
  const dialog = page.getByRole('dialog')
  const press = () => dialog.getByRole('button', { name: 'Give credit' }).click()
  /** It is given, and the answer is lost. */
  const loseAnswer = async (amount: string) => {
    await row.getByRole('button', { name: 'Give credit' }).click()
    await dialog.getByLabel('Amount in USD').fill(amount)
    await dialog.getByLabel('What for').fill('an outage')
    const lose = (route: Route) => route.fetch().then(() => route.abort())
    await page.route('**/gifts', lose, { times: 1 })
    await press()
    await dialog.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor()
  }
  await loseAnswer('3')
  await press()
  await dialog.getByText('The first try had given this already').waitFor()
  expect(await given()).toBe(3n)
  await press()
  await dialog.waitFor({ state: 'detached' })
  expect(await given()).toBe(6n)

  await loseAnswer('4')
  await dialog.getByLabel('Amount in USD').fill('5')
  await press()
  await dialog.getByText('The first try had given what was typed then').waitFor()
  expect(await given()).toBe(10n)
  await press()
  await dialog.waitFor({ state: 'detached' })
  expect(await given()).toBe(15n)
})

test('one account after the other is made, and each shows the link of its own owner', async () => {
  const { page } = await browser.newPage(size)
  await it.enter(page, 'operator@example.com', 'owner', true)
  await page.getByRole('link', { name: 'Accounts' }).click()
  const dialog = page.getByRole('dialog')
  const links: (string | null)[] = []
  for (const name of ['Elder', 'Fir']) {
    await page.getByRole('button', { name: 'New account' }).click()
    await dialog.getByLabel('Organisation').fill(name)
    await dialog.getByLabel('E-mail address of its owner').fill(`${name.toLowerCase()}@example.com`)
    await dialog.getByRole('button', { name: 'Create' }).click()
    links.push(await dialog.getByLabel('link of the owner', { exact: true }).textContent())
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  }
  expect(new Set(links).size).toBe(2)
})

test('a failing vendor is shown with how often it failed and when it is tried again, and its key by the last four', async () => {
  const { page, errors } = await browser.newPage(size)
  await it.enter(page, 'operator@example.com', 'owner', true)
  const { token } = await it.newKey()
  await page.getByRole('link', { name: 'Vendors' }).click()
  const row = page
    .getByRole('table', { name: 'Vendors', exact: true })
    .getByRole('row')
    .filter({ hasText: 'mock' })
  await row.getByText('OK', { exact: true }).waitFor()
  it.answerWith(() => new Response('{"error":{"message":"down"}}', { status: 500 }))
  expect(await call(token)).toBe('upstream_error')
  // Live: nobody loads the page again.
  await row.getByText(/failures? in a row, tried again (?:in \d+ s|by the next call)/).waitFor()
  expect(await row.textContent()).not.toContain('sk-')
  // The next success ends it, when the vendor has had its rest.
  it.answerWith(() => completion('up again'))
  await until(async () => (await call(token)) === 200)
  await row.getByText('OK', { exact: true }).waitFor()
  expect(errors).toEqual([])
})

test('an operator who acts for an organisation sees that on every page, until they go back', async () => {
  const { page, errors } = await browser.newPage(size)
  await it.enter(page, 'operator@example.com', 'owner', true)
  await page.getByRole('link', { name: 'Accounts' }).click()
  await page
    .getByRole('row')
    .filter({ hasText: 'Cedar & Co' })
    .getByRole('button', { name: 'Act for' })
    .click()
  const banner = page.getByRole('status').filter({ hasText: 'You act for Cedar & Co' })
  await banner.waitFor()
  await page.getByRole('link', { name: 'Keys' }).click()
  await page.getByText('No keys yet').waitFor()
  expect(await banner.isVisible()).toBe(true)
  await banner.getByRole('button', { name: /^Back to/ }).click()
  await banner.waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const [event] = await it.store.events.list({ orgId: 'org_C', most: 1 })
  expect(event).toMatchObject({ what: 'operator.acts_for', actor: { name: 'operator@example.com' } })
  expect(errors).toEqual([])
})

test('a server that is away when somebody chooses an organisation is asked again, and its failure is seen', async () => {
  const { page } = await browser.newPage(size)
  await it.enter(page, 'operator@example.com', 'owner', true)
  await page.getByRole('link', { name: 'Accounts' }).click()
  const row = page.getByRole('row').filter({ hasText: 'Cedar & Co' })
  const away = {
    status: 503,
    json: { error: { code: 'service_unavailable', message: 'The ledger is away.', request_id: 'r1' } },
  }
  let refused = 0
  await page.route('**/session/organisation', (route) => {
    refused++
    return route.fulfill(away)
  })
  await row.getByRole('button', { name: 'Act for' }).click()
  await page.getByRole('alert').filter({ hasText: 'The ledger is away.' }).waitFor()
  expect(refused).toBeGreaterThan(2)
  await page.unroute('**/session/organisation')
  let left = 2
  await page.route('**/session/organisation', (route) =>
    left-- > 0 ? route.fulfill(away) : route.continue(),
  )
  await row.getByRole('button', { name: 'Act for' }).click()
  await page.getByRole('status').filter({ hasText: 'You act for Cedar & Co' }).waitFor()
})
