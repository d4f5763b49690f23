/** Finance with a large month: the month as a file whose sum is the ledger's, and a table of thousands of rows. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { fillLedger, ORG, WALLET } from '../../bench/large-ledger.ts'
import { decimalFromNano, nanoFromDecimal } from '../../src/core/money.ts'
import { until } from '../until.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'

const DAY = 86_400_000
const KEYS = 4_000

/** The month before this one: no call of it is still to come. */
const now = new Date()
const first = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)
const dayText = (at: number): string => new Date(at).toISOString().slice(0, 10)

let browser: TestBrowser
let it: ListeningConsole
/** A console over that many calls of that many keys, with somebody who looks after the bills. */
const filled = async (calls: number, keyCount: number): Promise<ListeningConsole> => {
  const made = await listenConsole({ fund: 0n })
  const by = { kind: 'command', id: 'test', name: 'test' } as const
  await fillLedger(`sqlite:${made.file}`, { calls, keyCount, days: 5, until: first + 10 * DAY })
  const { personId } = await made.visit('billing@example.com', 'billing', ORG)
  await made.store.members.put({ orgId: ORG, personId, role: 'billing' }, by)
  return made
}
beforeAll(async () => {
  browser = await openBrowser()
  it = await filled(20_000, KEYS)
})
afterAll(async () => {
  await browser.close()
  await it.stop()
})

const open = async (at = it) => {
  const opened = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await opened.page.goto(at.addressOfLink(at.address, await at.link('billing@example.com')))
  await opened.page.getByRole('button', { name: 'Sign in' }).click()
  await opened.page.getByRole('heading', { name: 'Overview' }).waitFor()
  return opened
}

const view = `from=${dayText(first)}&to=${dayText(first + 27 * DAY)}&slot=month`

test('one day and one call are called so on the overview', async () => {
  const { page } = await open()
  await page.route('**/console/api/overview', async (route) => {
    const answer = await route.fetch()
    await route.fulfill({ json: { ...(await answer.json()), days_left: 1, requests_today: 1 } })
  })
  await page.goto(`${it.address}/console`)
  await page.getByText('1 day', { exact: true }).waitFor()
  await page.getByText('1 call (UTC day)').waitFor()
})

test('an address with days or months that there are not says so, or shows the usual days', async () => {
  const { page, errors } = await open()
  for (const [address, said] of [
    ['usage?from=2026-11-20&to=2026-11-01', "'from' must not be after 'to'"],
    ['statement?month=2026-13', 'must be a month such as'],
  ] as const) {
    await page.goto(`${it.address}/console/${address}`)
    await page.getByRole('alert').filter({ hasText: said }).waitFor()
  }
  await page.goto(`${it.address}/console/usage?from=foo&to=bar`)
  await page.getByText('Nothing was used').or(page.getByRole('table')).first().waitFor()
  // What the browser itself says of the 400s.
  expect(errors.filter((error) => !error.includes('status of 400'))).toEqual([])
})

test('the CSV of a month is what the ledger says of it, to the nano-dollar', async () => {
  const { page, errors } = await open()
  await page.goto(`${it.address}/console/usage?${view}&by=model`)
  await page.getByRole('table', { name: 'Use by group' }).waitFor()
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download CSV' }).click()
  const file = await downloading
  expect(file.suggestedFilename()).toBe(`usage-${dayText(first)}.csv`)
  const [head = '', ...lines] = (await readFile(await file.path(), 'utf8')).trim().split('\r\n')
  expect(head).toBe(
    'month,model,requests,input_tokens,output_tokens,cost_usd,cached_tokens,cache_write_tokens,cache_saved_usd',
  )
  const sum = (column: number) => lines.map((line) => line.split(',')[column] ?? '')
  const cost = sum(5).reduce((all, text) => all + (nanoFromDecimal(text) ?? -1n), 0n)
  const posted = await it.store.ledger.balance(WALLET)
  // Only top-ups of 20,000 USD a day and calls were posted.
  expect(cost).toBe(5n * 20_000_000_000_000n - posted)
  expect(new Set(sum(0))).toEqual(new Set([dayText(first).slice(0, 7)]))
  // Half of the input came from caches, which saved 360 nano-USD a token; the page says what the file does.
  const total = (column: number) => sum(column).reduce((all, text) => all + Number(text), 0)
  expect([total(6) > 0, Math.abs(total(6) / total(3) - 0.5) < 0.001]).toEqual([true, true])
  const saved = sum(8).reduce((all, text) => all + (nanoFromDecimal(text) ?? -1n), 0n)
  expect(saved).toBe(BigInt(total(6)) * 360n)
  const foot = page.getByRole('table', { name: 'Use by group' }).locator('tfoot')
  expect(await foot.getByText('49.9 %').or(foot.getByText('50.0 %')).getAttribute('title')).toBe(
    `${total(6).toLocaleString('en-US')} of ${total(3).toLocaleString('en-US')} read, 0 written`,
  )
  expect(await foot.getByTitle(`${decimalFromNano(saved)} USD`).count()).toBe(1)
  // From a model to the keys that used it; the address leads back to that view.
  const model = page.getByRole('table', { name: 'Use by group' }).getByRole('button').first()
  const name = (await model.textContent()) ?? ''
  await model.click()
  await page.getByRole('heading', { name: 'By key' }).waitFor()
  expect(new URL(page.url()).searchParams.get('model')).toBe(name)
  expect(await page.getByLabel('Model', { exact: true }).inputValue()).toBe(name)
  expect(errors).toEqual([])
})

test('of thousands of rows only those near the screen are drawn, down to the last one', async () => {
  const { page, errors } = await open()
  await page.goto(`${it.address}/console/usage?${view}&by=key`)
  const table = page.getByRole('table', { name: 'Use by group' })
  await table.waitFor()
  const rows = async () => Number(await table.getAttribute('aria-rowcount')) - 1
  // At first the most expensive, with the total of all.
  expect(await rows()).toBe(250)
  const total = await table.locator('tfoot').textContent()
  await page.getByRole('button', { name: 'Show all' }).click()
  await until(async () => (await rows()) > 2_000)
  expect(await table.locator('tfoot').textContent()).toBe(total)
  const drawn = () => table.locator('tbody tr:not(.space)').count()
  const keyOf = (at: number) =>
    table.locator('tbody tr:not(.space)').nth(at).locator('td').first().textContent()
  const top = await keyOf(0)
  expect(await drawn()).toBeLessThanOrEqual(250)
  // Scrolls through all of it: never many rows at once, and the last one is reached.
  const seen = new Set<string>()
  for (let share = 1; share <= 8; share++) {
    await page.evaluate(`window.scrollTo(0, document.documentElement.scrollHeight * ${share / 8})`)
    const before = seen.size
    await until(async () => {
      for (const text of await table.locator('tbody tr:not(.space) td:first-child').allTextContents())
        seen.add(text)
      return seen.size > before
    })
    expect(await drawn()).toBeLessThanOrEqual(250)
  }
  expect(seen.size).toBeGreaterThan(800)
  const last = table.locator('tbody tr').last()
  await until(async () => (await last.getAttribute('class')) !== 'space')
  await page.evaluate('window.scrollTo(0, 0)')
  await until(async () => (await keyOf(0)) === top)
  expect(errors).toEqual([])
})

/** What the page shows at one moment: the view that it names, and amounts in full. */
type Shown = {
  readonly [Text in 'chart' | 'by' | 'total']: string
} & { readonly failed: boolean } & { readonly [List in 'names' | 'rows' | 'bars']: readonly string[] }

const shownOn = (page: Page): Promise<Shown> =>
  page.evaluate(`(() => {
    const table = document.querySelector('table[aria-label="Use by group"]')
    const texts = (which) => [...document.querySelectorAll(which)].map((one) => one.textContent ?? '')
    const amounts = (which) => [...(table?.querySelectorAll(which) ?? [])].map((one) => one.getAttribute('title'))
    return {
      failed: document.body.textContent.includes('Something went wrong'),
      chart: document.querySelector('svg.chart')?.getAttribute('aria-label') ?? '',
      by: table?.querySelector('thead th')?.textContent ?? '',
      names: texts('table[aria-label="Use by group"] tbody td:first-child'),
      rows: amounts('tbody td:last-child [title$=" USD"]'),
      bars: texts('svg.chart rect title'),
      total: amounts('tfoot th:last-child [title$=" USD"]')[0] ?? '',
    }
  })()`)

const sumOf = (amounts: readonly string[]): bigint =>
  amounts.reduce((sum, text) => sum + (nanoFromDecimal(/([\d.]+) USD$/.exec(text)?.[1] ?? '') ?? -1n), 0n)

test('whatever is turned, rows and bars are those of the view that they name, and add up to its total', async () => {
  const small = await filled(400, 12)
  const { page, errors } = await open(small)
  await page.goto(`${small.address}/console/usage?${view}&by=model`)
  /** Waits for a view; at every moment before it, what is shown adds up too. */
  const added = async (slot: string, by: string, name: string): Promise<bigint> => {
    let shown = await shownOn(page)
    await until(async () => {
      shown = await shownOn(page)
      expect([shown.failed, sumOf(shown.bars)]).toEqual([false, sumOf(shown.rows)])
      if (shown.total !== '') expect(sumOf(shown.rows)).toBe(sumOf([shown.total]))
      return shown.chart === `Cost by ${slot} and ${by}` && shown.by === name
    })
    expect(shown.names).not.toContain('recovered calls')
    expect(shown.names.length).toBeGreaterThan(0)
    return sumOf([shown.total])
  }
  const all = await added('month', 'model', 'Model')
  const groups = {
    key: 'Key',
    vendor: 'Vendor',
    status: 'Status',
    sub_wallet: 'Sub-wallet',
    payment_mode: 'Payment mode',
    model: 'Model',
  }
  for (const [by, name] of Object.entries(groups))
    for (const slot of ['hour', 'day', 'month']) {
      await page.getByLabel('Group by').selectOption(by)
      await page.getByLabel('Per').selectOption(slot)
      expect([by, slot, await added(slot, by, name)]).toEqual([by, slot, all])
    }
  // One row after another, each of which leads to a part; its button leads back to the whole.
  for (const [by, back] of [
    ['vendor', 'All vendors'],
    ['status', 'Any status'],
    ['key', 'All keys'],
  ] as const) {
    await page.getByLabel('Group by').selectOption(by)
    await added('month', by, groups[by])
    await page.getByRole('table', { name: 'Use by group' }).getByRole('button').first().click()
    const [next, name] = by === 'key' ? (['model', 'Model'] as const) : (['key', 'Key'] as const)
    const part = await added('month', next, name)
    expect([by, part > 0n && part <= all]).toEqual([by, true])
    for (const slot of ['hour', 'month']) {
      await page.getByLabel('Per').selectOption(slot)
      expect([by, await added(slot, next, name)]).toEqual([by, part])
    }
    await page.getByRole('button', { name: back }).click()
    await until(async () => sumOf([(await shownOn(page)).total]) === all)
  }
  await page.getByLabel('Group by').selectOption('model')
  await added('month', 'model', 'Model')
  const [model = ''] = (await shownOn(page)).names
  await page.getByLabel('Model', { exact: true }).fill(model)
  await page.getByLabel('Model', { exact: true }).press('Enter')
  await until(async () => (await shownOn(page)).names.join() === model)
  expect((await added('month', 'model', 'Model')) < all).toBe(true)
  await page.getByLabel('Model', { exact: true }).fill('')
  await page.getByLabel('To', { exact: true }).fill(dayText(first + 8 * DAY))
  await until(async () => {
    const total = sumOf([(await shownOn(page)).total])
    return total > 0n && total < all
  })
  await added('month', 'model', 'Model')
  expect(errors).toEqual([])
  await small.stop()
})
