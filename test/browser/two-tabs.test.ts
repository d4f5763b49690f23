/** Two tabs of one browser share a session: what one changes of it, the other must not act upon unseen. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { byTest } from '../by-test.ts'
import { PASSWORD } from '../console/rig.ts'
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
  (await it.store.reports.keys({ orgs: [orgId], which: 'all', most: 100 })).map(({ key }) => key.label)

const signIn = async (page: Page, email: string) => {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** A tab with a form half filled, whose session ends in another tab. */
const interrupted = async (email: string) => {
  await it.visit(email, 'owner')
  const { page, context, errors } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.goto(`${it.address}/console/keys`)
  await signIn(page, email)
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('dialog').getByLabel('Label').fill(`a key of ${email}`)
  const other = await context.newPage()
  await other.goto(`${it.address}/console`)
  await other.locator('header summary').click()
  await other.getByRole('button', { name: 'Sign out' }).click()
  await other.getByLabel('E-mail address').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Your session has ended').waitFor()
  expect(await labels('org_test')).not.toContain(`a key of ${email}`)
  // What the page showed is not for whoever comes by.
  expect(await page.getByText(email).locator('visible=true').count()).toBe(0)
  expect(await page.getByRole('dialog').count()).toBe(0)
  return { page, errors }
}

test('a tab whose session ended in another one asks for a sign-in, and goes on with the form that was half filled', async () => {
  const { page, errors } = await interrupted('owner@example.com')
  await signIn(page, 'owner@example.com')
  expect(await page.getByRole('dialog').getByLabel('Label').inputValue()).toBe('a key of owner@example.com')
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Copy the key now').waitFor()
  expect(await labels('org_test')).toContain('a key of owner@example.com')
  expect(errors.filter((error) => !error.includes('401'))).toEqual([])
})

test('another person who signs in there finds nothing of it', async () => {
  const { page } = await interrupted('before@example.com')
  await it.visit('after@example.com', 'owner')
  await signIn(page, 'after@example.com')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.getByRole('link', { name: 'Keys', exact: true }).click()
  await page.getByRole('button', { name: 'Create key' }).click()
  expect(await page.getByRole('dialog').getByLabel('Label').inputValue()).toBe('')
})

test('a page that is loaded again leads to the sign-in, and from there back', async () => {
  const { page } = await interrupted('again@example.com')
  await page.reload()
  await page.getByLabel('E-mail address').waitFor()
  expect(new URL(page.url()).searchParams.get('to')).toStartWith('/keys')
  await signIn(page, 'again@example.com')
  await page.getByRole('dialog').getByLabel('Label').waitFor()
})

test('a tab that shows one organisation changes nothing in another that was chosen elsewhere', async () => {
  await it.store.wallets.createWallet({ id: 'wal_beside', orgId: 'org_beside', name: 'Beside' }, byTest)
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

test('a page of the navigation opens in another tab where its link is pressed with Ctrl', async () => {
  const { page, context } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'beside@example.com', 'owner')
  const link = page.getByRole('link', { name: 'Keys', exact: true })
  // What the page leaves to the browser, that opens: we do not wait for its tab, whose first event is sometimes never told.
  const taken = page.evaluate<boolean>(
    'new Promise((done) => addEventListener("click", (event) => done(event.defaultPrevented), { once: true }))',
  )
  await link.click({ modifiers: ['Control'] })
  expect(await taken).toBe(false)
  const other = await context.newPage()
  await other.goto(new URL((await link.getAttribute('href')) ?? '', page.url()).href)
  await other.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
  expect(await page.getByRole('heading', { name: 'Overview' }).count()).toBe(1)
})
