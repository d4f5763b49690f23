/** Keys by hand: made by keyboard alone, rotated while both work, and hidden from people they do not belong to. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { limitList } from '../../src/tenancy/limits.ts'
import { byTest } from '../by-test.ts'
import { chat, jsonOf } from '../server/harness.ts'
import { tabTo } from './keyboard.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'
import { settled } from './settled.ts'

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

const size = { viewport: { width: 1280, height: 900 } }
const statusOf = async (token: string): Promise<number> =>
  (await it.post('/v1/chat/completions', chat(), {}, token)).status

test('a key is made by keyboard alone, and whatever has the focus is seen to have it', async () => {
  const { page, errors } = await browser.newPage(size)
  await it.enter(page, 'owner@example.com', 'owner')
  await tabTo(page, 'Keys')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
  await tabTo(page, 'Create key')
  await page.keyboard.press('Enter')
  // The dialog has the focus in its first field.
  await page.locator('[role=dialog] input:focus').waitFor()
  await page.keyboard.type('by keyboard')
  await tabTo(page, 'Monthly cap in USD')
  await page.keyboard.type('7.5')
  await tabTo(page, 'Create key')
  await page.keyboard.press('Enter')
  await page.getByText('Copy the key now').waitFor()
  const token = (await page.getByLabel('key by keyboard', { exact: true }).textContent()) ?? ''
  await tabTo(page, 'I have copied it')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const row = page.getByRole('row').filter({ hasText: 'by keyboard' })
  await row.filter({ hasText: 'of $7.50' }).waitFor()
  // Its value is gone, except for the part that distinguishes it.
  expect(await page.locator('main').textContent()).not.toContain(token)
  expect(await statusOf(token)).toBe(200)
  expect(errors).toEqual([])
})

test('a key is rotated: both work, both are seen, and the old one is deleted when it is not used any more', async () => {
  const { page, errors } = await browser.newPage(size)
  await it.enter(page, 'owner@example.com', 'owner')
  const { id, token } = await it.newKey({ monthlyCap: 9_000_000_000n }, { label: 'rotating' })
  expect(await statusOf(token)).toBe(200)
  await page.goto(`${it.address}/console/keys/${id}`)
  await page.getByRole('button', { name: 'Rotate' }).dblclick()
  await page.getByText('Copy the key now').waitFor()
  const next = (await page.getByLabel('key rotating', { exact: true }).textContent()) ?? ''
  expect([await statusOf(token), await statusOf(next)]).toEqual([200, 200])
  await page.getByRole('button', { name: 'I have copied it' }).click()
  await page.goto(`${it.address}/console/keys?search=rotating`)
  const rows = page.getByRole('row').filter({ hasText: 'rotating' })
  await rows.nth(1).waitFor()
  // Both have the same limits, and each shows when it was used.
  expect(await rows.filter({ hasText: 'of $9.00' }).filter({ hasText: 'just now' }).count()).toBe(2)
  // The page of the old one leads to the new one, and that back.
  await page.goto(`${it.address}/console/keys/${id}`)
  await page
    .getByText('rotated to')
    .getByRole('link', { name: next.slice(0, 10) })
    .click()
  await page
    .getByText('took the place of')
    .getByRole('link', { name: token.slice(0, 10) })
    .click()
  await page.getByText('rotated to').waitFor()
  await page.goto(`${it.address}/console/keys?search=rotating`)
  await rows.nth(1).waitFor()
  await rows
    .filter({ hasText: token.slice(0, 10) })
    .getByRole('link', { name: 'rotating' })
    .click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('dialog').getByText('for good').waitFor()
  await page.getByRole('button', { name: 'Delete key' }).click()
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
  expect([await statusOf(token), await statusOf(next)]).toEqual([401, 200])
  await page.goto(`${it.address}/console/keys?search=rotating`)
  await rows.first().waitFor()
  expect(await rows.count()).toBe(1)
  expect(errors).toEqual([])
})

test('a key that expired can be disabled, and nothing says that it was enabled', async () => {
  const { page } = await browser.newPage(size)
  await it.enter(page, 'owner@example.com', 'owner')
  const { id } = await it.newKey({ expiresAt: 1 }, { label: 'of old' })
  await page.goto(`${it.address}/console/keys/${id}`)
  await page.getByText('Expired', { exact: true }).waitFor()
  expect(await page.getByRole('button', { name: 'Enable' }).count()).toBe(0)
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByText('Disabled on every process.').waitFor()
  await page.getByRole('button', { name: 'Enable' }).click()
  await page.getByText('Enabled on every process.').waitFor()
  await page.getByText('Expired', { exact: true }).waitFor()
})

test('what is another organisation’s is not there: not its page, nor behind it, nor by its other addresses', async () => {
  await it.store.wallets.createWallet({ id: 'wal_other', orgId: 'org_other', name: 'Other' }, byTest)
  const stranger = await it.visit('stranger@example.com', 'owner', 'org_other')
  const theirs = await jsonOf(await stranger.ask('POST', '/keys', { label: 'theirs' }))
  const { data } = await jsonOf(await stranger.ask('POST', '/tenants', { tenants: [{ label: 'theirs' }] }))
  const call = await it.post('/v1/chat/completions', chat(), {}, (await it.newKey()).token)
  const { page } = await browser.newPage(size)
  await it.enter(page, 'owner@example.com', 'owner')
  for (const [path, api] of [
    [`/keys/${theirs.id}`, `/keys/${theirs.id}`],
    [`/tenants/${data[0].id}`, `/tenants/${data[0].id}`],
    ['/keys/key_of_nobody', '/keys/key_of_nobody'],
  ]) {
    const answered = page.waitForResponse((response) => response.url().endsWith(`/console/api${api}`))
    await page.goto(`${it.address}/console${path}`)
    expect([path, (await answered).status()]).toEqual([path, 404])
    await page.getByRole('heading', { name: 'Not found', level: 1 }).waitFor()
    expect(await page.locator('main').textContent()).not.toContain('theirs')
  }
  await page.getByRole('link', { name: 'Go to the overview' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  // Nor is a page that never existed.
  await page.goto(`${it.address}/console/nothing`)
  await page.getByRole('heading', { name: 'Not found', level: 1 }).waitFor()
  // They do not see a call of ours.
  const ours = call.headers.get('x-request-id') ?? ''
  expect((await stranger.ask('GET', `/calls/${ours}`)).status).toBe(404)
  expect((await jsonOf(await stranger.ask('GET', '/calls'))).data).toEqual([])
})

test('a key that is asked for twice in a moment is made once, and shown until the person says so', async () => {
  const { page } = await browser.newPage(size)
  await it.enter(page, 'owner@example.com', 'owner')
  await page.getByRole('button', { name: 'Create a key' }).click()
  await page.getByRole('dialog').getByLabel('Label').fill('once')
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).dblclick()
  await page.getByText('Copy the key now').waitFor()
  const of = { orgs: ['org_test'], which: 'all', most: 100 } as const
  const made = (await it.store.reports.keys(of)).filter(({ key }) => key.label === 'once')
  expect(made).toHaveLength(1)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'I have copied it' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})

test('what was typed for a key is there again after Escape, and gone once the key is made', async () => {
  const { page } = await browser.newPage(size)
  await it.enter(page, 'owner@example.com', 'owner')
  await page.goto(`${it.address}/console/keys`)
  const dialog = page.getByRole('dialog')
  const open = () => page.getByRole('button', { name: 'Create key' }).click()
  await open()
  await dialog.getByLabel('Label').fill('half filled')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await open()
  expect(await dialog.getByLabel('Label').inputValue()).toBe('half filled')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('button', { name: 'I have copied it' }).click()
  await dialog.waitFor({ state: 'detached' })
  await open()
  expect(await dialog.getByLabel('Label').inputValue()).toBe('')
})

test('a key whose dialog is closed while it is being made is shown all the same', async () => {
  const { page } = await browser.newPage(size)
  await it.enter(page, 'owner@example.com', 'owner')
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()
  await page.route('**/console/api/keys', async (route) => {
    const response = await route.fetch()
    await closed
    await route.fulfill({ response })
  })
  await page.goto(`${it.address}/console/keys?new=key`)
  await page.getByRole('dialog').getByLabel('Label').fill('in haste')
  await page.keyboard.press('Enter')
  await page.locator('[role=dialog] button[data-loading]').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  close()
  await page.getByText('Copy the key now').waitFor()
  await page.getByRole('button', { name: 'I have copied it' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})

test('every member of a key can be set when it is made, and changed on its page', async () => {
  const { page, errors } = await browser.newPage(size)
  await it.enter(page, 'all@example.com', 'owner')
  await it.store.subWallets.createSubWallet(
    { id: 'sub_all', walletId: it.wallet, label: 'Research', budget: 5_000_000_000n },
    byTest,
  )
  const owner = await it.visit('all2@example.com', 'owner')
  const typed: Readonly<Record<string, readonly [string, unknown]>> = {
    spend_cap_usd: ['9', '9'],
    monthly_cap_usd: ['8', '8'],
    weekly_cap_usd: ['7.5', '7.5'],
    daily_cap_usd: ['6', '6'],
    stop_at_remaining_usd: ['0.25', '0.25'],
    rpm_limit: ['60', 60],
    rph_limit: ['600', 600],
    rpd_limit: ['6000', 6_000],
    tpm_limit: ['90000', 90_000],
    expires_at: ['2031-01-02T03:04:05Z', '2031-01-02T03:04:05.000Z'],
    allowed_models: ['mock/*, mock/embed', ['mock/*', 'mock/embed']],
    allowed_addresses: ['10.0.0.0/8', ['10.0.0.0/8']],
    requires: ['zdr, region=eu', ['zdr', 'region=eu']],
  }
  const rows = limitList.map(([, row]) => row)
  expect(rows.map(({ member }) => member).sort()).toEqual(Object.keys(typed).sort())
  const fill = async (text: (member: string) => string) => {
    for (const { member, label } of rows) await page.getByLabel(label, { exact: true }).fill(text(member))
  }
  await page.goto(`${it.address}/console/keys?new=key`)
  await page.getByLabel('Label').fill('everything')
  await fill((member) => typed[member]?.[0] ?? '')
  await page.getByLabel('Sub-wallet').selectOption('sub_all')
  await page.getByLabel('Own names for models').fill('fast = mock/small\nmy model = mock/small')
  await page.getByLabel('May manage').check()
  await page.getByRole('button', { name: 'Create key' }).last().click()
  await page.getByText('Copy the key now').waitFor()
  const [made] = (await jsonOf(await owner.ask('GET', '/keys?search=everything'))).data
  expect(made).toMatchObject({
    ...Object.fromEntries(Object.entries(typed).map(([member, [, value]]) => [member, value])),
    sub_wallet: 'sub_all',
    aliases: { fast: 'mock/small', 'my model': 'mock/small' },
    can_manage: true,
  })
  await page.goto(`${it.address}/console/keys/${made.id}`)
  await fill(() => '')
  await page.getByLabel('Sub-wallet').selectOption('')
  await page.getByLabel('Own names for models').fill('')
  await page.getByLabel('May manage').uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved. The new limits apply').waitFor()
  const empty = await jsonOf(await owner.ask('GET', `/keys/${made.id}`))
  expect(empty).toMatchObject({
    ...Object.fromEntries(Object.keys(typed).map((member) => [member, null])),
    ...{ label: 'everything', sub_wallet: null, aliases: null, can_manage: false },
  })
  expect(errors).toEqual([])
})

test('a form that cannot be sent yet says what is missing, and leads there', async () => {
  const { page } = await browser.newPage(size)
  await it.enter(page, 'hints@example.com', 'owner')
  await page.goto(`${it.address}/console/rules`)
  await page.getByLabel('Maximum per day, in USD').fill('lots')
  await page.getByRole('button', { name: 'Save rules' }).click()
  await page.getByRole('alert').filter({ hasText: 'First correct what is marked above' }).waitFor()
  expect(await page.locator('input:focus').inputValue()).toBe('lots')
  await page.getByLabel('Maximum per day, in USD').fill('12')
  await page.getByRole('button', { name: 'Save rules' }).click()
  await page.getByText('Saved. The rules apply').waitFor()
  // No button of any page is grey before somebody has typed.
  for (const path of [
    '',
    'keys?new=key',
    'rules',
    'wallet',
    'settings',
    'tenants?new=tenants',
    'team',
    'playground',
  ]) {
    await page.goto(`${it.address}/console/${path}`)
    await settled(page)
    expect([path, await page.locator('button:disabled').allTextContents()]).toEqual([path, []])
  }
})

test('no form says that something is marked where nothing is', async () => {
  const { page } = await browser.newPage(size)
  await it.enter(page, 'marks@example.com', 'owner')
  const dialog = page.getByRole('dialog')
  const said = async (verb: string) => {
    await dialog.getByRole('button', { name: verb, exact: true }).click()
    const told = await dialog.getByRole('alert').textContent()
    const marked = await dialog.locator('[aria-invalid=true]').count()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    return { told, marked }
  }
  const asMarked = { told: 'First correct what is marked above.', marked: 1 }
  await page.goto(`${it.address}/console/keys?new=key`)
  await dialog.getByLabel('Label').fill('   ')
  expect(await said('Create key')).toEqual(asMarked)
  await page.goto(`${it.address}/console/rules`)
  await page.getByRole('button', { name: 'Create sub-wallet' }).click()
  await dialog.getByLabel('Name').fill('Night runs')
  await dialog.getByLabel('Ceiling in USD').fill('10001')
  await dialog.getByText('More than 0, and at most 10000').waitFor()
  expect(await said('Create')).toEqual(asMarked)
  await page.getByRole('button', { name: 'Set budget' }).click()
  expect(await said('Set')).toEqual({ told: 'Give at least one amount.', marked: 0 })
  await page.goto(`${it.address}/console/team`)
  await page.getByRole('button', { name: 'Create team' }).click()
  await dialog.getByLabel('Name').fill('Search')
  expect(await said('Create')).toEqual({ told: 'Give an amount.', marked: 0 })
  await page.goto(`${it.address}/console/alerts`)
  await page.getByRole('button', { name: 'New alert' }).click()
  await dialog.getByLabel('Name').fill('Low')
  await dialog.getByLabel('Watches').selectOption('Balance of the wallet')
  expect(await said('Make alert')).toEqual({ told: expect.stringContaining('an amount'), marked: 0 })
})

test('a viewer is offered neither a key nor the playground', async () => {
  const { page } = await browser.newPage(size)
  await it.enter(page, 'viewer@example.com', 'viewer')
  await page.getByText('Spent today').waitFor()
  for (const name of ['Create a key', 'Playground'])
    expect(await page.getByRole('button', { name }).count()).toBe(0)
  await page.getByText('Balance').waitFor()
})

test('a label of one long word stays in its column, and on the screen of its page', async () => {
  const label = 'x'.repeat(200)
  const { id } = await it.newKey({}, { label })
  const { page } = await browser.newPage(size)
  await it.enter(page, 'owner@example.com', 'owner')
  await page.getByRole('link', { name: 'Keys', exact: true }).click()
  const link = page.getByRole('link', { name: label })
  await link.waitFor()
  const [text, cell] = [
    await link.boundingBox(),
    await page.locator('td').filter({ has: link }).boundingBox(),
  ]
  expect(text!.x + text!.width).toBeLessThanOrEqual(cell!.x + cell!.width)
  const hidden = async (what: string) =>
    Number(await page.evaluate(`(${what}).scrollWidth - (${what}).clientWidth`))
  await page.goto(`${it.address}/console/keys/${id}`)
  await page.getByRole('heading', { name: label }).waitFor()
  expect(await hidden('document.documentElement')).toBe(0)
  await page.setViewportSize({ width: 360, height: 740 })
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('dialog', { name: `Delete ${label}?` }).waitFor()
  expect(await hidden('document.documentElement')).toBe(0)
  expect(await hidden('document.querySelector("[role=dialog] h2")')).toBe(0)
  await page.keyboard.press('Escape')
})

test('/ goes to the search of the page, ? shows the keyboard shortcuts, and g with a letter opens a page', async () => {
  const { page, errors } = await browser.newPage(size)
  await it.enter(page, 'operator@example.com', 'owner', true)
  await page.keyboard.press('g')
  await page.keyboard.press('k')
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
  await page.getByLabel('Search keys').waitFor()
  await page.keyboard.press('/')
  await page.locator('input[aria-label="Search keys"]:focus').waitFor()
  await page.keyboard.type('no key/?')
  // In a field the keys of the keyboard are letters.
  await page.getByText('No key matches').waitFor()
  expect(await page.getByLabel('Search keys').inputValue()).toBe('no key/?')
  expect(await page.getByRole('dialog').count()).toBe(0)
  await page.getByLabel('Search keys').blur()
  await page.keyboard.press('?')
  const help = page.getByRole('dialog').getByRole('table', { name: 'Keyboard shortcuts' })
  await help.waitFor()
  // Each page has a letter of its own, however many there are.
  const names = await page.locator('a.place[href^="/console"]').allTextContents()
  expect(names).toContain('System')
  for (const text of ['Search on this page', ...names]) expect(await help.textContent()).toContain(text)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const letter = (await page.evaluate(`document.activeElement.tagName`)) as string
  expect(letter).toBe('BODY')
  expect(errors).toEqual([])
})

test('a new key is copied also where the address is not secure, as http on a host of the house is', async () => {
  const { page } = await browser.newPage(size)
  await page.addInitScript("Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })")
  await it.enter(page, 'owner@example.com', 'owner')
  await page.goto(`${it.address}/console/keys?new=key`)
  await page.getByRole('dialog').getByLabel('Label').fill('copied')
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  const shown = page.getByLabel('key copied', { exact: true })
  const token = (await shown.textContent()) ?? ''
  // A letter that is pressed by mistake leads to no other page: the key would be gone with this one.
  await page.keyboard.press('g')
  await page.keyboard.press('w')
  expect(new URL(page.url()).pathname).toBe('/console/keys')
  await page.getByRole('button', { name: 'Copy key copied' }).click()
  await page.getByRole('button', { name: 'Copied', exact: true }).waitFor()
  await page.getByRole('button', { name: 'I have copied it' }).click()
  const search = page.getByRole('textbox', { name: 'Search keys' })
  await search.click()
  await page.keyboard.press('Control+V')
  expect(await search.inputValue()).toBe(token)
})

test('an address of a list whose row is gone leads to its beginning', async () => {
  const { page } = await browser.newPage(size)
  await it.enter(page, 'owner@example.com', 'owner')
  await page.goto(`${it.address}/console/keys?after=key_gone`)
  await page.getByRole('link', { name: 'Show the page from its beginning' }).click()
  await page.getByRole('row').nth(1).waitFor()
  expect(new URL(page.url()).search).toBe('')
})

test("the browser's Back closes a dialog and leaves its page; closed by itself, the dialog is no step of the history", async () => {
  const { page, errors } = await browser.newPage(size)
  await it.enter(page, 'owner@example.com', 'owner')
  await page.getByRole('link', { name: 'Keys', exact: true }).click()
  const dialog = page.getByRole('dialog')
  const atKeys = () => page.getByRole('heading', { name: 'Keys', level: 1 })
  await page.getByRole('button', { name: 'Create key' }).click()
  await dialog.waitFor()
  await page.goBack()
  await dialog.waitFor({ state: 'detached' })
  expect(new URL(page.url()).pathname).toBe('/console/keys')
  await page.goForward()
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Create key' }).click()
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await atKeys().waitFor()
  await page.goBack()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(errors).toEqual([])
})
