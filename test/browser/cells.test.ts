/** One sign-in for two cells, in a browser: the organisations of both in the menu, and the other console without a word typed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import type { Cell } from '../../src/cells/directory.ts'
import { Places } from '../../src/cells/places.ts'
import { byTest } from '../by-test.ts'
import { ensurePerson, PASSWORD } from '../console/rig.ts'
import { codeOf } from '../console/totp-code.ts'
import { freePort } from '../free-port.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'
import { settled } from './settled.ts'

const EMAIL = 'both@example.com'
const cells = new Map<string, Cell>()
let browser: TestBrowser
let c1: ListeningConsole
let c2: ListeningConsole

/** Names of one machine, so that cookies of one cell are not the other's; to a browser they are two sites. */
const consoleAt = (name: string, port: number) => `http://${name}.localhost:${port}`

const started = async (own: string): Promise<ListeningConsole> => {
  const port = await freePort()
  const console = consoleAt(own, port)
  const addresses = [{ url: `http://127.0.0.1:${port}`, weight: 1 }]
  const cell = { name: own, addresses, host: new URL(console).host, console }
  cells.set(own, cell)
  const directory = { now: () => ({ cells, first: cell }) }
  const places = new Places(() => performance.now())
  const it = await listenConsole({ settings: { origin: console }, cells: { own, directory, places } }, port)
  await it.store.wallets.createWallet({ id: `wal_${own}`, orgId: `org_${own}`, name: `House ${own}` }, byTest)
  return it
}

beforeAll(async () => {
  browser = await openBrowser()
  c1 = await started('c1')
  c2 = await started('c2')
  const person = await ensurePerson(c2.store.people, { email: EMAIL, name: 'Both', now: Date.now() })
  await c2.store.members.put({ orgId: 'org_c2', personId: person.id, role: 'viewer' }, byTest)
})
afterAll(async () => {
  await browser.close()
  await c1.stop()
  await c2.stop()
})

/** What axe finds on the page as it is. */
const barriers = async (page: Page): Promise<unknown> => {
  await page.evaluate(await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8'))
  return page.evaluate(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
  )
}

/** Signs in at the first cell, and opens the menu. */
const atHome = async (page: Page) => {
  await c1.visit(EMAIL, 'owner', 'org_c1')
  await page.goto(`${cells.get('c1')?.console}/console`)
  await page.getByLabel('E-mail address').fill(EMAIL)
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.locator('header summary').click()
}

test('choosing an organisation of another cell opens its console, signed in', async () => {
  const { page, errors, strangers } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await atHome(page)
  await page.getByText('Cell c1, this one').waitFor()
  await page.getByRole('button', { name: 'House c2 (viewer)' }).waitFor()
  await settled(page)
  expect(await barriers(page)).toEqual([])
  await page.getByRole('button', { name: 'House c2 (viewer)' }).click()
  await page.waitForURL(`${cells.get('c2')?.console}/console`)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.locator('header').getByText('House c2').first().waitFor()
  // And back, from there.
  await page.locator('header summary').click()
  await page.getByText('Cell c2, this one').waitFor()
  await page.getByRole('button', { name: 'House c1 (owner)' }).click()
  await page.waitForURL(`${cells.get('c1')?.console}/console`)
  await page.locator('header').getByText('House c1').first().waitFor()
  expect(page.url()).not.toContain('hand_over')
  expect(errors.filter((error) => !error.includes('401'))).toEqual([])
  expect(strangers.filter((url) => !/^http:\/\/c[12]\.localhost:/.test(url))).toEqual([])
})

test('an account there with a second factor asks for its code, and no more', async () => {
  const there = await c2.visit(EMAIL)
  const begun: any = await (await there.ask('POST', '/session/totp', { password: PASSWORD })).json()
  const secret = new URL(begun.uri).searchParams.get('secret') ?? ''
  await there.ask('PUT', '/session/totp', { code: codeOf(secret) })
  const { page } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await atHome(page)
  await page.getByRole('button', { name: 'House c2 (viewer)' }).click()
  await page.getByLabel('Code of your authenticator app').waitFor()
  await settled(page)
  expect(await barriers(page)).toEqual([])
  await page.getByLabel('Code of your authenticator app').fill(codeOf(secret, 1))
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.waitForURL(`${cells.get('c2')?.console}/console`)
  await page.locator('header').getByText('House c2').first().waitFor()
})

test('a cell that is away is named, and a house without cells names none', async () => {
  const { page } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const before = cells.get('c2') as Cell
  cells.set('c2', { ...before, addresses: [{ url: 'http://127.0.0.1:9', weight: 1 }] })
  await atHome(page)
  await page.getByText('Cell c2 does not answer').waitFor()
  cells.set('c2', before)
  const alone = await listenConsole()
  const other = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await alone.enter(other.page, 'alone@example.com', 'owner')
  await other.page.locator('header summary').click()
  await other.page.getByRole('button', { name: 'Sign out' }).waitFor()
  expect(await other.page.getByText(/^Cell /).count()).toBe(0)
  await alone.stop()
})
