/** The page of calls: from what needs attention to the reason in two clicks; filters live in its address, and the file has what it shows. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { until } from '../until.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'
import { seedConsole } from './seeded.ts'

let browser: TestBrowser
let it: ListeningConsole
beforeAll(async () => {
  browser = await openBrowser()
  it = await listenConsole({ fund: 0n })
  await seedConsole(it)
})
afterAll(async () => {
  await browser.close()
  await it.stop()
})

const rowsOf = (page: Page) => page.getByRole('table', { name: 'Calls' }).locator('tbody tr')
const searchOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

test('a refused tenant is found from the overview, its calls with their reason, and one of them in full', async () => {
  const { page, errors } = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await it.enter(page, 'ada@example.com', 'owner', true)
  await page.getByRole('link', { name: /^Blue Harbour Ltd: 6 calls were not answered today/ }).click()
  await page.getByRole('heading', { name: 'Calls', level: 1 }).waitFor()
  await until(async () => (await rowsOf(page).count()) === 6)
  expect(searchOf(page)).toMatchObject({ code: 'insufficient_balance' })
  const texts = await rowsOf(page).allTextContents()
  expect(texts.every((text) => text.includes('402 insufficient balance: monthly cap'))).toBe(true)
  await rowsOf(page).first().getByRole('button', { name: 'Details of call' }).click()
  const dialog = page.getByRole('dialog', { name: 'Call' })
  await dialog.getByText('The call does not fit the wallet or a cap.').waitFor()
  await dialog.getByText('The limit is the key’s own.').waitFor()
  // The address is this view: whoever opens it sees the same.
  const address = page.url()
  await page.goto('about:blank')
  await page.goto(address)
  await dialog.getByText('none was asked').waitFor()
  await page.keyboard.press('Escape')
  await until(async () => (await dialog.count()) === 0)
  expect(searchOf(page).call).toBeUndefined()
  expect(errors).toEqual([])
})

test('filters are in the address, a request id finds its call, and the CSV has the rows', async () => {
  const { page, errors } = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await it.enter(page, 'ada@example.com', 'owner', true)
  await page.goto(`${it.address}/console/calls`)
  await until(async () => (await rowsOf(page).count()) === 50)
  await page.getByLabel('Outcome').selectOption('failed')
  await until(async () => (await rowsOf(page).count()) === 6)
  expect(searchOf(page)).toEqual({ status: 'failed' })
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download CSV' }).click()
  const file = await readFile(await (await downloading).path(), 'utf8')
  const lines = file.trim().split('\r\n').slice(1)
  expect(lines).toHaveLength(6)
  const [, id = ''] = lines[2]?.split(',') ?? []
  await page.getByLabel('Outcome').selectOption('')
  await page.getByLabel('Request id').fill(id)
  await page.keyboard.press('Enter')
  await until(async () => (await rowsOf(page).count()) === 1)
  expect(searchOf(page)).toEqual({ id })
  await rowsOf(page).first().getByRole('button', { name: 'Details of call' }).click()
  const attempts = page.getByRole('table', { name: 'Attempts at vendors' })
  await attempts.waitFor()
  expect(await attempts.locator('tr').allTextContents()).toEqual([
    'openai503, failed812 ms',
    'openai500, failed812 ms',
    'openai503, failed812 ms',
  ])
  await page.getByRole('link', { name: 'Calls with this reason' }).click()
  await until(async () => (await rowsOf(page).count()) === 6)
  expect(searchOf(page)).toEqual({ code: 'service_unavailable' })
  expect(errors).toEqual([])
})

test('the filter by a key or a tenant calls it as its page does', async () => {
  const { page, errors } = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await it.enter(page, 'ada@example.com', 'owner', true)
  for (const [path, name] of [
    ['keys', 'Search indexer'],
    ['tenants', 'Dune Travel'],
  ]) {
    await page.goto(`${it.address}/console/${path}`)
    await page.getByRole('link', { name: name ?? '', exact: true }).click()
    await page.getByRole('link', { name: 'All calls' }).click()
    await page.getByText(`Only the ${path?.slice(0, -1)} ${name}.`).waitFor()
    await page.getByRole('button', { name: `All ${path}` }).click()
    await until(() => Object.keys(searchOf(page)).length === 0)
  }
  const { key } = (await it.store.reports.keys({ orgs: ['org_test'], which: 'own', most: 1 }))[0] ?? {}
  await page.goto(`${it.address}/console/usage?key=${key?.id}`)
  await page.getByText(`Only the key ${key?.label}.`).waitFor()
  expect(errors).toEqual([])
})

test('what is typed into a field of the address stays where it was typed: a text in its middle, a day by its figures', async () => {
  const { page, errors } = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await it.enter(page, 'ada@example.com', 'owner', true)
  await page.goto(`${it.address}/console/keys`)
  await page.getByLabel('Search keys').focus()
  await page.keyboard.type('search er')
  for (let moves = 0; moves < 3; moves++) await page.keyboard.press('ArrowLeft')
  await page.keyboard.type(' ind', { delay: 20 })
  await page.keyboard.press('Delete')
  await page.keyboard.type('ex', { delay: 20 })
  await until(async () => searchOf(page).search === 'search indexer')
  expect(await page.getByLabel('Search keys').inputValue()).toBe('search indexer')
  await page.goto(`${it.address}/console/calls`)
  await page.getByLabel('Code').fill(' 402')
  await page.keyboard.press('Enter')
  await until(() => searchOf(page).code?.includes('402') === true)
  // The field is still the one that has the focus: who goes on by keyboard begins there.
  await page.locator('input:focus').and(page.getByLabel('Code')).waitFor()
  await page.keyboard.press('Tab')
  await page.locator('input:focus').and(page.getByLabel('Model')).waitFor()
  expect(await page.getByLabel('Code').inputValue()).toBe('402')
  await page.getByLabel('From (UTC)').focus()
  await page.keyboard.type('01022024', { delay: 20 })
  await until(async () => searchOf(page).from === '2024-01-02')
  await page.getByLabel('To', { exact: true }).fill('2024-01-03')
  await until(async () => searchOf(page).to === '2024-01-03')
  await page.getByText('No call fits').waitFor()
  expect(errors).toEqual([])
})

test('page by page every call is shown once, and a filter begins at the newest', async () => {
  const { page } = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await it.enter(page, 'ada@example.com', 'owner', true)
  await page.goto(`${it.address}/console/calls`)
  const idsOf = () =>
    rowsOf(page)
      .locator('button[title]')
      .evaluateAll((all) => all.map((one) => one.title)) as Promise<string[]>
  const seen: string[] = []
  for (let pages = 1; pages <= 3; pages++) {
    await until(
      async () => (await rowsOf(page).count()) === 50 && !seen.includes((await idsOf()).at(-1) ?? ''),
    )
    seen.push(...(await idsOf()))
    await page.getByRole('button', { name: 'Older' }).click()
  }
  await until(async () => searchOf(page).before !== undefined)
  expect(new Set(seen).size).toBe(150)
  await page.getByLabel('Outcome').selectOption('refused')
  await until(async () => (await rowsOf(page).count()) === 22)
  expect(searchOf(page)).toEqual({ status: 'refused' })
})

test('a telephone shows what each call was and cost, and opens it, without moving the table sideways', async () => {
  const { page, errors } = await browser.newPage({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  })
  await it.enter(page, 'ada@example.com', 'owner', true)
  await page.goto(`${it.address}/console/calls?code=insufficient_balance`)
  await until(async () => (await rowsOf(page).count()) === 6)
  const box = page.getByRole('group', { name: 'Table' })
  expect(await box.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
  await rowsOf(page).first().getByRole('link', { name: 'Blue Harbour Ltd' }).waitFor()
  await rowsOf(page).first().getByRole('button', { name: 'Details of call' }).tap()
  await page
    .getByRole('dialog', { name: 'Call' })
    .getByText('The call does not fit the wallet or a cap.')
    .waitFor()
  expect(errors).toEqual([])
})
