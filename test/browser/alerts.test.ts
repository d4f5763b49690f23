/** The page of alerts as people use it: a channel, a test of it, an alert, and what is said without a channel. */
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

test('an alert without a channel says that it tells nobody; with one it names it; both are deleted', async () => {
  const { page, errors } = await browser.newPage()
  await it.enter(page, 'ada@example.com', 'owner')
  await page.goto(`${it.address}/console/alerts`)
  await page.getByRole('button', { name: 'New alert' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('status').getByText('Nobody is told').waitFor()
  await dialog.getByLabel('Name').fill('The month')
  await dialog.getByRole('textbox', { name: 'Amount' }).fill('100')
  await dialog.getByRole('button', { name: 'Make alert' }).click()
  const alerts = page.getByRole('table', { name: 'Alerts' })
  await alerts.getByText('nobody: choose a channel').waitFor()
  await page.getByRole('button', { name: 'New channel' }).click()
  await dialog.getByLabel('Kind').selectOption({ label: 'Slack' })
  await dialog.getByLabel('Name').fill('ops')
  await dialog.getByLabel('Target').fill('http://not-https.example.com')
  await dialog.getByRole('button', { name: 'Make channel' }).click()
  await dialog.getByText('https').first().waitFor()
  await dialog.getByLabel('Target').fill('https://hooks.slack.com/services/T/B/abcdefgh')
  await dialog.getByRole('button', { name: 'Make channel' }).click()
  const channels = page.getByRole('table', { name: 'Channels' })
  await channels.getByText('hooks.slack.com/…efgh').waitFor()
  await channels.getByRole('button', { name: 'Test ops' }).click()
  await page.getByRole('table', { name: 'Deliveries' }).getByText('Being sent').waitFor()
  await alerts.getByRole('button', { name: 'Change the alert The month' }).click()
  await dialog.getByRole('checkbox', { name: 'ops' }).check()
  await dialog.getByLabel('Steps, in percent').fill('70, 90')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await alerts.getByRole('cell', { name: 'ops' }).waitFor()
  const [changed] = await it.store.alerts.rules('org_test')
  expect(changed).toMatchObject({
    name: 'The month',
    kind: 'wallet',
    steps: [70, 90],
    amount: 100n * 10n ** 9n,
  })
  await alerts.getByRole('button', { name: 'Delete the alert The month' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No alert yet').waitFor()
  expect(await it.store.alerts.rules('org_test')).toEqual([])
  // The answer that named the wrong address.
  expect(errors.filter((text) => !text.includes('400'))).toEqual([])
})

test('any key of many can be watched, and an alert of one that is gone still says which it watches', async () => {
  const { page } = await browser.newPage()
  const owner = await it.visit('reseller@example.com', 'owner')
  const made = await (await owner.ask('POST', '/keys', { label: 'Night agent' })).json()
  const { id } = made as { id: string }
  const more = () =>
    owner.ask('POST', '/tenants', { tenants: Array.from({ length: 200 }, (_, n) => ({ label: `T ${n}` })) })
  expect((await more()).status).toBe(201)
  await it.enter(page, 'ada@example.com', 'owner')
  await page.goto(`${it.address}/console/alerts`)
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'New alert' }).click()
  await dialog.getByLabel('Name').fill('Nights')
  await dialog.getByLabel('Watches').selectOption('key')
  // A field for text until the keys are there.
  await dialog.locator('select').getByText('Night agent').waitFor({ state: 'attached' })
  await dialog.getByLabel('Key', { exact: true }).selectOption({ label: 'Night agent' })
  await dialog.getByRole('textbox', { name: 'Amount' }).fill('5')
  await dialog.getByRole('button', { name: 'Make alert' }).click()
  const change = page.getByRole('button', { name: 'Change the alert Nights' })
  await change.click()
  expect(await dialog.getByLabel('Key', { exact: true }).inputValue()).toBe(id)
  await page.keyboard.press('Escape')
  await owner.ask('DELETE', `/keys/${id}`)
  await page.reload()
  await change.click()
  await dialog.getByRole('option', { name: 'T 199' }).waitFor({ state: 'attached' })
  expect(await dialog.getByLabel('Key', { exact: true }).inputValue()).toBe(id)
  await page.keyboard.press('Escape')
  for (let n = 0; n < 4; n++) await more()
  await page.reload()
  await change.click()
  await dialog.getByText('Its id').waitFor()
})
