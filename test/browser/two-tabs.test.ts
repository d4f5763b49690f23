/** Two tabs of one browser share a session: what one changes of it, the other must not act upon unseen. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'

let browser: TestBrowser
let it: ListeningConsole
beforeAll(async () => {
  browser = await openBrowser()
  it = await listenConsole()
})
afterAll(async () => {
  await browser.close()
  await it.stop()
})

const labels = async (orgId: string) =>
  (await it.store.reports.keys({ orgId, which: 'all', most: 100 })).map(({ key }) => key.label)

test('a tab whose session ended in another one goes to the sign-in, and back from there to its page', async () => {
  const { page, context } = await browser.newPage()
  await it.enter(page, 'owner@example.com', 'owner')
  const other = await context.newPage()
  await other.goto(`${it.address}/console/keys`)
  await other.getByRole('button', { name: 'Create key' }).click()
  await other.getByRole('dialog').getByLabel('Label').fill('too late')
  await page.locator('header summary').click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  await other.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  await other.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  expect(new URL(other.url()).searchParams.get('to')).toStartWith('/keys')
  expect(await labels('org_test')).not.toContain('too late')
})

test('a tab that shows one organisation changes nothing in another that was chosen elsewhere', async () => {
  await it.store.wallets.createWallet({ id: 'wal_beside', orgId: 'org_beside', name: 'Beside' })
  const { page, context } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'operator@example.com', 'owner', true)
  await page.goto(`${it.address}/console/keys`)
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('dialog').getByLabel('Label').fill('for my own')
  const other = await context.newPage()
  await other.goto(`${it.address}/console/operator`)
  await other.getByRole('row').filter({ hasText: 'Beside' }).getByRole('button', { name: 'Act for' }).click()
  await other.getByText('You act for').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('alert').filter({ hasText: 'another organisation' }).waitFor()
  expect(await labels('org_beside')).toEqual([])
  expect(await labels('org_test')).not.toContain('for my own')
  await page.reload()
  await page.getByText('You act for').waitFor()
})
