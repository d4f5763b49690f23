/**
 * A reseller bills a month in the browser: who bills, 20 invoices at once, one mailed and paid, one taken back, files for
 * accounting, and what a tenant sees of it by its link.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { SMTPServer } from 'smtp-server'
import { extractText, getDocumentProxy } from 'unpdf'
import { Secret } from '../../src/core/secret.ts'
import { LOGO, october, seedTenants, value } from '../console/bill-rig.ts'
import type { Visitor } from '../console/rig.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'

let browser: TestBrowser
let it: ListeningConsole
let owner: Visitor
let smtp: SMTPServer
let tenants: readonly { readonly id: string; readonly label: string }[]
const mailed: string[] = []
const time = october()

beforeAll(async () => {
  const port = await freePort()
  smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, { envelope }, done) => {
      stream.resume()
      stream.on('end', () => {
        mailed.push(envelope.rcptTo.map(({ address }) => address).join(' '))
        done()
      })
    },
  })
  await new Promise<void>((resolve) => smtp.listen(port, '127.0.0.1', resolve))
  browser = await openBrowser()
  it = await listenConsole({
    ...time.setup,
    settings: { smtp: new Secret(`smtp://127.0.0.1:${port}`), mailFrom: 'console@example.com' },
  })
  owner = await it.visit('owner@example.com', 'owner')
  ;({ tenants } = await seedTenants(it, owner, 20))
  time.november()
})
afterAll(async () => {
  await browser.close()
  await it.stop()
  await new Promise<void>((resolve) => smtp.close(resolve))
})

const downloaded = async (page: Page, press: () => Promise<void>) => {
  const downloading = page.waitForEvent('download')
  await press()
  const file = await downloading
  return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) }
}

const look = async (page: Page, name: string) => {
  const folder = process.env.BILL_PICTURES
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}

test('a month of 20 tenants is billed, mailed, paid, taken back and exported', async () => {
  const { page, errors } = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await it.enter(page, 'reseller@example.com', 'owner')
  await page.goto(`${it.address}/console/tenants`)
  await page.getByRole('link', { name: 'Invoices' }).click()
  await page.getByText('Say who bills first').waitFor()
  // Without who bills no month can be closed: the button asks for that.
  await page.getByRole('button', { name: 'Close a month' }).click()
  await page.getByRole('dialog').getByText('Days to pay').waitFor()
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await look(page, 'empty')
  await page.getByRole('button', { name: 'Who bills' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Name').fill('Größe & Söhne')
  await form.getByLabel('Address').fill('Łódzka 5\n10115 Berlin')
  await form.getByLabel('E-mail').fill('billing@reseller.example')
  await form.getByLabel('What one USD costs in it').fill('123456.789')
  await form.getByLabel('Numbers begin with').fill('GS1')
  await form.getByLabel('Taxes').fill('VAT 19\nSoli 1.5 %')
  await form.getByLabel('For DATEV').fill('29098 55003 8400 10000')
  await form.locator('input[type=file]').setInputFiles({
    name: 'logo.png',
    mimeType: 'image/png',
    buffer: Buffer.from(LOGO, 'base64'),
  })
  await form.getByAltText('Your logo').waitFor()
  // A browser says nothing of a file that is chosen again, unless it was forgotten.
  expect(await form.locator('input[type=file]').inputValue()).toBe('')
  await form.getByRole('button', { name: 'Save' }).click()
  await look(page, 'refused')
  await form.getByRole('alert').getByText('“Numbers begin with” must').waitFor()
  await form.getByLabel('Numbers begin with').fill('GS-')
  await form.getByLabel('Taxes').fill('MWST 8,1')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByRole('alert').getByText('must be a percentage').waitFor()
  await form.getByLabel('Taxes').fill('VAT 19\nSoli 1.5 %')
  await look(page, 'biller')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Close a month' }).click()
  await page.getByRole('dialog').getByLabel('Month').selectOption('2026-10')
  await page.getByRole('button', { name: 'Write invoices' }).dblclick()
  await page.getByText('October 2026: 20 invoices written').waitFor()
  const table = page.getByRole('table', { name: 'Invoices' })
  await until(async () => (await table.getByRole('row').count()) === 21)
  await look(page, 'list')
  const { data } = await value(owner.ask('GET', '/bills'))
  const [first = {}] = data
  expect(first.number).toBe('GS-0020')
  const cells = (await table.getByRole('row').nth(1).textContent()) ?? ''
  expect(cells).toContain(`${first.total} EUR`)
  // Where it goes is not known before the tenant has an address.
  await page.getByRole('button', { name: 'Open GS-0020' }).click()
  await page.getByRole('button', { name: 'Mail to tenant' }).click()
  await page.getByRole('alert').getByText('no e-mail address').waitFor()
  await look(page, 'one')
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await table.getByRole('link', { name: first.label, exact: true }).click()
  const to = page.locator('form', { hasText: 'Account in your books' })
  await to.getByLabel('Name').fill('Žižek Ltd')
  await to.getByLabel('Address').fill('Praha')
  await to.getByLabel('E-mail').fill('ap@tenant.example')
  await to.getByRole('button', { name: 'Save' }).click()
  await to.getByText('Saved.').waitFor()
  await look(page, 'tenant')
  await page.getByRole('link', { name: 'Invoices' }).click()
  await page.getByRole('button', { name: 'Of one tenant; show all' }).waitFor()
  await page.getByRole('button', { name: 'Open GS-0020' }).click()
  for (const [name, said] of [
    ['Mail to tenant', 'GS-0020 is mailed.'],
    ['Mark as paid', 'GS-0020 is paid.'],
    ['Mark as open', 'GS-0020 is open again.'],
  ] as const) {
    await page.getByRole('button', { name, exact: true }).click()
    await page.getByText(said).waitFor()
  }
  expect(mailed).toEqual(['ap@tenant.example'])
  await page.getByRole('button', { name: 'Take back' }).click()
  await page.getByLabel('Why').fill('wrong address')
  await page.getByRole('button', { name: 'Write credit note' }).click()
  await page.getByText('GS-0021').waitFor()
  await table.getByText('Taken back').waitFor()
  await look(page, 'credited')
  const pdf = await downloaded(page, () => page.getByRole('button', { name: 'PDF of GS-0021' }).click())
  expect(pdf.name).toBe('GS-0021.pdf')
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(pdf.bytes)), { mergePages: true })
  for (const said of ['Credit note GS-0021', 'wrong address', 'Größe & Söhne', `${first.total} EUR`])
    expect(text).toContain(said)
  const datev = await downloaded(page, () => page.getByRole('button', { name: 'DATEV' }).click())
  expect(datev.name).toBe('EXTF_Buchungsstapel_all.csv')
  expect(datev.bytes.toString('latin1').trim().split('\r\n').length).toBe(4)
  expect(errors.filter((error) => !error.includes('409') && !error.includes('400'))).toEqual([])
})

test('a tenant sees its invoices by its link, under the name and logo of its reseller', async () => {
  const { id = '', label = '' } = tenants[2] ?? {}
  const { link } = await value(owner.ask('POST', `/tenants/${id}/links`), 201)
  const { page, errors } = await browser.newPage({ viewport: { width: 390, height: 844 } })
  await page.goto(`${it.address}/console/use#${link.split('#')[1]}`)
  await page.getByRole('heading', { name: `Use of ${label}` }).waitFor()
  await page.getByAltText('Größe & Söhne').waitFor()
  await page.getByText('Billed by Größe & Söhne').waitFor()
  const rows = page.getByRole('table', { name: 'Invoices' }).getByRole('row')
  expect(await rows.count()).toBe(2)
  const { name, bytes } = await downloaded(page, () => page.getByRole('button', { name: 'PDF of' }).click())
  expect(name).toMatch(/^GS-\d{4}\.pdf$/)
  expect(bytes.subarray(0, 5).toString()).toBe('%PDF-')
  await look(page, 'use')
  // Only the part behind the # is another one, so the browser keeps the page.
  const other = await value(owner.ask('POST', `/tenants/${tenants[3]?.id}/links`), 201)
  await page.goto(`${it.address}/console/use#${other.link.split('#')[1]}`)
  await page.getByRole('heading', { name: `Use of ${tenants[3]?.label}` }).waitFor()
  expect(errors).toEqual([])
  // Invoices that cannot be read are told, and are not as if there were none.
  await page.route('**/use/bills', (route) =>
    route.fulfill({ status: 404, json: { error: { code: 'not_found', message: 'No invoices today.' } } }),
  )
  await page.reload()
  await page.getByRole('heading', { name: `Use of ${tenants[3]?.label}` }).waitFor()
  expect(await page.getByRole('alert').innerText()).toContain('No invoices today.')
})
