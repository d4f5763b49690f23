/**
 * A reseller with two processes on one ledger: tenants from a pasted list, their keys downloaded, prices, a statement,
 * a link for a tenant, and one suspended in the middle of its stream; after that no process admits anything of it.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { extractText, getDocumentProxy } from 'unpdf'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { chat, jsonOf, pausedStream, streamEvents } from '../server/harness.ts'
import { until } from '../until.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'

let browser: TestBrowser
let database: TestDatabase
let it: ListeningConsole
let other: ListeningConsole
beforeAll(async () => {
  browser = await openBrowser()
  database = await postgresForTests()
  it = await listenConsole({ url: database.url })
  other = await listenConsole({ url: database.url })
})
afterAll(async () => {
  await browser.close()
  await it.stop()
  await other.stop()
  await database.stop()
})

const call = (key: string, more: object = {}, at = it) =>
  fetch(`${at.address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(chat(more)),
  })

/** Rows of a CSV whose cells are all quoted. */
const rowsOf = (csv: string): readonly (readonly string[])[] =>
  csv
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(',').map((cell) => cell.slice(1, -1)))

/** Calls one process after another without a pause, and notes the answers to those that began after `said` was set. */
const pressing = (key: string) => {
  const state = { said: false, ended: false, before: [] as number[], after: [] as number[] }
  const press = async (at: ListeningConsole): Promise<void> => {
    while (!state.ended) {
      const list = state.said ? state.after : state.before
      const response = await call(key, { max_tokens: 5 }, at)
      await response.text()
      list.push(response.status)
    }
  }
  const all = Promise.all([press(it), press(other)])
  return { state, all }
}

test('20 tenants are made, one is suspended in the middle of its stream, and no process admits it once the page says so', async () => {
  const { page, errors } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'reseller@example.com', 'owner')
  await page.getByRole('link', { name: 'Tenants' }).click()
  await page.getByRole('button', { name: 'Create tenants' }).click()
  const list = Array.from({ length: 20 }, (_, at) => `Tenant ${at + 1}, =C-${at + 1}, ${at + 5}`).join('\n')
  await page.getByLabel('Tenants, one per line').fill(list)
  // Escape closes the dialog and loses nothing.
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Create tenants' }).click()
  await page.getByRole('button', { name: 'Create 20 tenants' }).click()
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download keys' }).click()
  const rows = rowsOf(await readFile(await (await downloading).path(), 'utf8'))
  expect(rows.length).toBe(20)
  // A cell that a spreadsheet would run as a formula is marked as text.
  expect(rows[0]?.[1]).toBe("'=C-1")
  await page.getByRole('button', { name: 'Done' }).click()
  const [label = '', , , key = ''] = rows[6] ?? []
  // A stream on the other process, which runs while the tenant is suspended by this one.
  let release = (): void => undefined
  const suspended = new Promise<void>((resolve) => {
    release = resolve
  })
  other.answerWith(() => pausedStream(streamEvents(['one', 'two']), 2, () => suspended))
  const open = await call(key, { stream: true }, other)
  expect(open.status).toBe(200)
  other.answerWith(() => Response.json(completion))
  const { state, all } = pressing(key)
  await until(() => state.before.includes(200))
  await page.getByRole('link', { name: label, exact: true }).click()
  await page.getByRole('button', { name: 'Suspend', exact: true }).click()
  await page.getByRole('button', { name: 'Suspend tenant' }).click()
  await page.getByText('Suspended on every process').waitFor()
  state.said = true
  const [mine, theirs] = await Promise.all([call(key), call(key, {}, other)])
  expect([mine.status, theirs.status]).toEqual([403, 403])
  await until(() => state.after.length >= 40)
  state.ended = true
  await all
  // A call that began before may end on either side of it; all that began after are refused.
  expect(new Set(state.after)).toEqual(new Set([403]))
  // The open call comes to its end, and is charged.
  release()
  expect(await open.text()).toEndWith('data: [DONE]\n\n')
  // The others go on, on both.
  expect((await call(rows[7]?.[3] ?? '')).status).toBe(200)
  expect((await call(rows[7]?.[3] ?? '', {}, other)).status).toBe(200)
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('Resumed on every process').waitFor()
  expect((await call(key, {}, other)).status).toBe(200)
  expect(errors).toEqual([])
})

test('a price, a statement to print, and a link by which the tenant sees its own use until it is revoked', async () => {
  const { page, errors } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'reseller@example.com', 'owner')
  await page.goto(`${it.address}/console/tenants`)
  await page.getByRole('button', { name: 'Prices' }).click()
  await page.getByLabel('Margin above our price').fill('25')
  await page.getByRole('button', { name: 'Save price' }).click()
  await page.getByText('25 % unless a tenant has its own price').waitFor()
  await page.getByRole('link', { name: 'Statements' }).click()
  const sheet = page.getByRole('region', { name: 'Statement of Tenant 7' })
  await sheet.waitFor()
  const month = new Date().toISOString().slice(0, 7)
  const owner = await it.visit('owner@example.com', 'owner')
  const statement = await jsonOf(await owner.ask('GET', `/statement?month=${month}`))
  const seven = statement.tenants.find((one: { label: string }) => one.label === 'Tenant 7')
  expect(Number(seven.total.billed_usd)).toBeCloseTo(Number(seven.total.cost_usd) * 1.25, 8)
  // In cents, as money is paid; the files have every digit.
  const payable = Number(seven.total.billed_usd).toFixed(2)
  const shown = (await sheet.getByRole('row').last().textContent()) ?? ''
  expect(shown).toEndWith(payable)
  // Printed, there is only the sheet, without our price, the margin or the frame.
  await page.emulateMedia({ media: 'print' })
  expect(await sheet.isVisible()).toBe(true)
  for (const hidden of ['You pay us', 'Your margin'])
    expect(await page.getByText(hidden).first().isVisible()).toBe(false)
  expect(await page.getByRole('navigation').isVisible()).toBe(false)
  // As many pages as sheets, and no blank one.
  const printed = await getDocumentProxy(new Uint8Array(await page.pdf({ preferCSSPageSize: true })))
  const { text } = await extractText(printed)
  expect(text.map((one) => one.match(/Whole month|So far/g)?.length)).toEqual(
    Array(statement.tenants.length).fill(1),
  )
  await page.emulateMedia({ media: 'screen' })
  await page.goto(`${it.address}/console/tenants/${seven.id}`)
  await page.getByRole('button', { name: 'Make a link' }).click()
  const link = (await page.getByLabel('link for the tenant', { exact: true }).textContent()) ?? ''
  await page.getByRole('button', { name: 'I have copied it' }).click()
  const tenant = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await tenant.page.goto(link)
  await tenant.page.getByRole('heading', { name: 'Use of Tenant 7' }).waitFor()
  const seen = (await tenant.page.locator('main').textContent()) ?? ''
  expect(seen).toContain(payable)
  for (const hidden of [seven.total.cost_usd, 'margin', 'Tenant 8']) expect(seen).not.toContain(hidden)
  // The link opens no other page: those are for people who sign in.
  await tenant.page.goto(`${it.address}/console/tenants`)
  await tenant.page.getByRole('button', { name: 'Sign in' }).waitFor()
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('No link yet').waitFor()
  await tenant.page.goto(link)
  await tenant.page.getByText('This link is not valid any more').waitFor()
  expect(errors).toEqual([])
})

test('a reseller chooses that tenants see its price, and their next answers tell it', async () => {
  const { page, errors } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'reseller@example.com', 'owner')
  const owner = await it.visit('owner@example.com', 'owner')
  expect((await owner.ask('PUT', '/tenants/price', { margin_percent: 25 })).status).toBe(200)
  const reseller = await it.newKey({}, { canManage: true })
  const { token } = await it.newKey({}, { parentId: reseller.id, label: 'Priced' })
  it.answerWith(() => Response.json(completion))
  const told = async (key: string) => (await call(key, { max_tokens: 5 })).headers.get('x-cost-usd')
  expect(await told(token)).toBe('0.00006')
  await page.goto(`${it.address}/console/tenants`)
  for (const [choice, price] of [
    ['My price', '0.000075'],
    ['What I pay', '0.00006'],
  ] as const) {
    await page.getByRole('button', { name: 'Prices' }).click()
    await page.getByLabel('Tenants see in answers and reports').selectOption(choice)
    await page.getByText('Tenants are told so from now on').waitFor()
    expect([choice, await told(token), await told(reseller.token)]).toEqual([choice, price, '0.00006'])
    await page.keyboard.press('Escape')
  }
  expect(errors).toEqual([])
})

test('a cap that is reached is seen, and raised', async () => {
  const { page } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'owner@example.com', 'owner')
  const { id, token } = await it.newKey({ spendCap: 60_000n }, { label: 'small cap' })
  it.answerWith(() => Response.json(completion))
  const statuses = []
  for (let n = 0; n < 4; n++) statuses.push((await call(token, { max_tokens: 5 })).status)
  expect(statuses).toContain(402)
  await page.goto(`${it.address}/console/keys/${id}`)
  await page.getByText('The cap is reached').waitFor()
  await page.getByLabel('Lifetime cap in USD').fill('2')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The new limits apply on every process').waitFor()
  const enable = page.getByRole('button', { name: 'Enable', exact: true })
  if (await enable.isVisible()) await enable.click()
  await page.getByText('Enabled', { exact: true }).first().waitFor()
  expect((await call(token, { max_tokens: 5 })).status).toBe(200)
})

const completion = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'small',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
}

test('tenants are sorted, and several are given limits and suspended at once', async () => {
  const { page, errors } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'reseller@example.com', 'owner')
  await page.goto(`${it.address}/console/tenants`)
  const names = async () =>
    (await page.getByRole('table').locator('tbody tr td:nth-child(2) a').allTextContents()).map((name) =>
      name.trim(),
    )
  await page.getByRole('button', { name: 'Tenant', exact: true }).click()
  await page
    .getByRole('columnheader', { name: 'Tenant' })
    .and(page.locator('[aria-sort=ascending]'))
    .waitFor()
  const sorted = await names()
  expect(sorted.length).toBeGreaterThanOrEqual(20)
  expect(sorted).toEqual(sorted.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)))
  for (const label of ['Tenant 2', 'Tenant 3'])
    await page.getByRole('checkbox', { name: `Choose ${label}`, exact: true }).check()
  await page.getByRole('button', { name: 'Set limits' }).click()
  await page.getByRole('button', { name: 'Set for 2' }).click()
  await page.getByRole('alert').filter({ hasText: 'Give at least one limit' }).waitFor()
  await page.getByLabel('Monthly cap in USD').fill('33')
  await page.getByLabel('Calls per minute').fill('7')
  await page.getByRole('button', { name: 'Set for 2' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Suspend all' }).click()
  await page.getByRole('button', { name: 'Suspend tenants' }).click()
  await page.getByText('2 of 2 suspended on every process').waitFor()
  const owner = await it.visit('owner@example.com', 'owner')
  const { data } = await jsonOf(await owner.ask('GET', '/keys?which=tenants&limit=1000'))
  const changed = data.filter(({ rpm_limit: rpm }: { rpm_limit: number | null }) => rpm === 7)
  expect(changed.map(({ label }: { label: string }) => label).toSorted()).toEqual(['Tenant 2', 'Tenant 3'])
  for (const one of changed) expect(one).toMatchObject({ monthly_cap_usd: '33', status: 'disabled' })
  await page.getByRole('button', { name: 'Resume all' }).click()
  await page.getByText('2 of 2 resumed on every process').waitFor()
  // What was done stays as it was done, whoever is chosen next.
  await page.getByRole('checkbox', { name: 'Choose Tenant 4', exact: true }).check()
  await page.getByText('3 chosen').waitFor()
  expect(await page.getByText('2 of 2 resumed on every process').count()).toBe(1)
  // Of several pages only one is sorted, which is said: the largest sum may be on another.
  const ofOnePage = page.getByText('Only the tenants of this page are sorted')
  expect(await ofOnePage.count()).toBe(0)
  await page.goto(`${it.address}/console/tenants?sort=spent&after=${data[0].id}`)
  await ofOnePage.waitFor()
  expect(errors).toEqual([])
})

test('a server that is away for a moment takes neither the list of tenants nor what is typed about them', async () => {
  const { page } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'reseller@example.com', 'owner')
  await page.goto(`${it.address}/console/tenants`)
  await page.getByRole('checkbox', { name: 'Choose Tenant 5', exact: true }).check()
  await page.getByRole('button', { name: 'Set limits' }).click()
  await page.getByLabel('Calls per minute').fill('8')
  await page.route('**/console/api/keys?*', (route) => route.abort())
  await page.getByText('The server cannot be reached').first().waitFor()
  await page.unroute('**/console/api/keys?*')
  await page.getByRole('button', { name: 'Set for 1' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByText('The server cannot be reached').waitFor({ state: 'detached' })
})
