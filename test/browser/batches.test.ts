/** The page of batches: how far each is, what it cost, and its cancelling by somebody who may change its key. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { begunBatch } from '../console/begun-batch.ts'
import { until } from '../until.ts'
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

test('a batch is seen with its lines and cancelled; a viewer only sees it', async () => {
  const { id: keyId } = await it.newKey({}, { label: 'nightly' })
  const batch = await begunBatch(it.store, { keyId, wallet: it.wallet, lines: 3 })
  const { page, errors } = await browser.newPage()
  await it.enter(page, 'vera@example.com', 'viewer')
  await page.getByRole('link', { name: 'Batches' }).click()
  const rows = page.getByRole('table', { name: 'Batches' }).locator('tbody tr')
  await rows.getByText('3 waiting').waitFor()
  expect(await rows.getByText('In progress').count()).toBe(1)
  expect(await rows.getByRole('link', { name: 'nightly' }).count()).toBe(1)
  expect(await page.getByRole('button', { name: `Cancel ${batch}` }).count()).toBe(0)

  const owner = await browser.newPage()
  await it.enter(owner.page, 'olga@example.com', 'owner')
  await owner.page.goto(`${it.address}/console/batches`)
  await owner.page.getByRole('button', { name: `Cancel ${batch}` }).click()
  await owner.page.getByRole('dialog').getByRole('button', { name: 'Cancel the batch' }).click()
  await owner.page.getByText('3 never sent').waitFor()
  await owner.page.getByText('Cancelling').waitFor()
  await until(async () => (await owner.page.getByRole('dialog').count()) === 0)
  expect(await owner.page.getByRole('button', { name: `Cancel ${batch}` }).count()).toBe(0)
  // The other page follows by itself.
  await rows.getByText('3 never sent').waitFor()

  const newer = await begunBatch(it.store, { keyId, wallet: it.wallet, form: 'anthropic' })
  await until(async () => (await rows.count()) === 2)
  await page.goto(`${it.address}/console/batches?after=${newer}`)
  await until(async () => (await rows.count()) === 1)
  await page.getByRole('button', { name: 'Newest' }).click()
  await until(async () => (await rows.count()) === 2)
  expect([errors, owner.errors]).toEqual([[], []])
})
