/**
 * From a new server to a billed month, in a browser: an operator adds a vendor and its price and makes a reseller, whose 20
 * tenants call until four kinds of answers have come; the operator finds what failed; the month turns, and is billed.
 */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Locator, Page } from 'playwright-core'
import { extractText, getDocumentProxy } from 'unpdf'
import type { Config } from '../../src/cli/config/config.ts'
import { hashOfSettings } from '../../src/cli/config/parts.ts'
import { monthText } from '../../src/console/web/parts/months.ts'
import { decimalFromNano, type Nano } from '../../src/core/money.ts'
import { Secret } from '../../src/core/secret.ts'
import { monthOf, nextMonthStart } from '../../src/core/time.ts'
import { billedFor } from '../../src/tenancy/margin.ts'
import { followingClock } from '../following-clock.ts'
import { endPrograms, startProgram } from '../program.ts'
import { completion, jsonOf, streamEvents } from '../server/harness.ts'
import { until } from '../until.ts'
import { openBrowser, type TestBrowser, type TestPage } from './open-browser.ts'
import { listenConsole } from './rig.ts'
import { signInByLink } from './sign-in-by-link.ts'

const SECRET = 'a secret of this journey'
const VENDOR_KEY = 'sk-vendor-key-0001'
const MODEL = 'openai/gpt-5-mini'
const EMAIL = 'reseller@example.com'
/** What a million tokens cost: so much that a month has cents, and with digits that no other number has by chance. */
const PRICES = { input_usd_per_1m: '7654.321', output_usd_per_1m: '12345.673' }
const MARGIN = 2_500
const TAX = 19n
/** What one USD costs in EUR, by the billion. */
const RATE = 913_700_000n
const SIZE = { viewport: { width: 1440, height: 900 } }
const PICTURES = fileURLToPath(new URL('../../docs/pictures', import.meta.url))

type Tenant = { readonly label: string; readonly id: string; readonly key: string }

let browser: TestBrowser
let home: string
let settings: Readonly<Record<string, string>>
let server: Awaited<ReturnType<typeof startProgram>>
let vendor: ReturnType<typeof Bun.serve>
let operator: TestPage
let reseller: TestPage
let tenants: readonly Tenant[]
/** Whatever a tenant was answered: status, headers and body. */
const answers: string[] = []
const month = monthOf(Date.now())

beforeAll(async () => {
  browser = await openBrowser()
  home = await mkdtemp(join(tmpdir(), 'turnpike-journey-'))
  vendor = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      if (!request.headers.get('authorization')?.endsWith(VENDOR_KEY))
        return new Response('{}', { status: 401 })
      if (request.url.endsWith('/models')) return Response.json({ data: [] })
      const { stream, max_completion_tokens: most } = (await request.json()) as Record<
        string,
        number | boolean
      >
      const usage = { prompt_tokens: 11, completion_tokens: Number(most), total_tokens: 11 + Number(most) }
      if (stream !== true) return completion('hello', usage)
      return new Response(streamEvents(['hello'], usage).join(''), {
        headers: { 'content-type': 'text/event-stream' },
      })
    },
  })
  settings = {
    OPENAI_BASE_URL: `http://127.0.0.1:${vendor.port}/v1`,
    DATABASE_URL: 'sqlite:./ledger.db',
    TURNPIKE_SECRET: SECRET,
    LOCAL_MEDIA: 'off',
    TRIAL_USD: '0',
  }
  await writeFile(join(home, 'turnpike.yaml'), `markup: "1"\n`)
  server = await startProgram(home, settings)
  operator = await browser.newPage(SIZE)
  reseller = await browser.newPage(SIZE)
})
afterAll(async () => {
  await browser.close()
  await endPrograms()
  await vendor.stop(true)
  await rm(home, { recursive: true, force: true })
})

const go = (page: Page, place: string) =>
  page.getByRole('navigation').getByRole('link', { name: place, exact: true }).click()

const downloaded = async (page: Page, button: string): Promise<Buffer> => {
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: button }).click()
  return readFile(await (await downloading).path())
}

test('an operator opens a new server, adds a vendor and its price, and makes a reseller', async () => {
  const { page } = operator
  await signInByLink(page, server.link)
  await go(page, 'Vendors')
  await page.getByRole('button', { name: 'Add a key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('combobox', { name: 'Vendor' }).selectOption('openai')
  await dialog.getByRole('textbox', { name: 'Key' }).fill(VENDOR_KEY)
  await dialog.getByRole('button', { name: 'Try and add' }).click()
  const on = page.getByRole('table', { name: 'Vendors', exact: true })
  await on.getByText(VENDOR_KEY.slice(-4)).waitFor()
  // Prices of the server's own are written into its file, which it reads again by itself.
  const lines = Object.entries(PRICES).map(([name, usd]) => `    ${name}: "${usd}"`)
  await writeFile(join(home, 'turnpike.yaml'), `markup: "1"\nprices:\n  ${MODEL}:\n${lines.join('\n')}\n`)
  const row = page.getByRole('table', { name: 'Models and prices' }).getByRole('row')
  await until(async () => {
    await go(page, 'Models and prices')
    await page.reload()
    await page.getByLabel('Search models').fill(MODEL)
    return (await row.filter({ hasText: 'yours (turnpike.yaml)' }).count()) > 0
  }, 200)
  await go(page, 'Accounts')
  await page.getByRole('button', { name: 'New account' }).click()
  await dialog.getByLabel('Organisation').fill('Harbour Reselling')
  await dialog.getByLabel('E-mail address of its owner').fill(EMAIL)
  await dialog.getByRole('button', { name: 'Create' }).click()
  const link = (await dialog.getByLabel('link of the owner', { exact: true }).textContent()) ?? ''
  await page.keyboard.press('Escape')
  const account = page.getByRole('row').filter({ hasText: 'Harbour Reselling' })
  await account.getByRole('button', { name: 'Give credit' }).click()
  await dialog.getByLabel('Amount in USD').fill('500')
  await dialog.getByLabel('What for').fill('the first month')
  await dialog.getByRole('button', { name: 'Give credit' }).click()
  await dialog.waitFor({ state: 'detached' })
  await account.locator('[title="500 USD"]').waitFor()
  await signInByLink(reseller.page, link)
})

test('the reseller makes 20 tenants, which see its price and nothing else', async () => {
  const { page } = reseller
  await go(page, 'Tenants')
  await page.getByRole('button', { name: 'Create tenants' }).click()
  const lines = Array.from({ length: 20 }, (_, at) => `Tenant ${at + 1}, C-${at + 1}, ${at === 19 ? 3 : 20}`)
  await page.getByLabel('Tenants, one per line').fill(lines.join('\n'))
  await page.getByRole('button', { name: 'Create 20 tenants' }).click()
  const rows = (await downloaded(page, 'Download keys')).toString().trim().split('\r\n').slice(1)
  tenants = rows.map((row) => {
    const [label = '', , id = '', key = ''] = row.split(',').map((cell) => cell.slice(1, -1))
    return { label, id, key }
  })
  expect(tenants.length).toBe(20)
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Prices' }).click()
  await page.getByLabel('Margin above our price').fill(String(MARGIN / 100))
  await page.getByRole('button', { name: 'Save price' }).click()
  await page.getByText(`${MARGIN / 100} % unless a tenant has its own price`).waitFor()
  await page.getByRole('button', { name: 'Prices' }).click()
  await page.getByLabel('Tenants see in answers and reports').selectOption('My price')
  await page.getByText('Tenants are told so from now on').waitFor()
})

/** Asks as a tenant, and keeps every byte of the answer. */
const asks = async ({ key }: Tenant, path: string, body?: object): Promise<number> => {
  const response = await fetch(`${server.address}${path}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })
  answers.push(`${path} ${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`)
  return response.status
}

const calls = (tenant: Tenant, more: object = {}): Promise<number> =>
  asks(tenant, '/v1/chat/completions', {
    model: MODEL,
    messages: [{ role: 'user', content: 'hi' }],
    max_completion_tokens: 20,
    ...more,
  })

const one = (at: number): Tenant => tenants[at] ?? { label: '', id: '', key: '' }

test('tenants call: answered, refused for money, refused for a mistake, and failed with the vendor away', async () => {
  for (const [at, tenant] of tenants.entries()) {
    expect(await calls(tenant, { max_completion_tokens: 20 + at })).toBe(200)
    expect(await calls(tenant, { max_completion_tokens: 7 + at, stream: true })).toBe(200)
  }
  await until(async () => (await calls(one(19), { max_completion_tokens: 50 })) === 402)
  expect(await calls(one(17), { messages: 'hi' })).toBe(400)
  await vendor.stop(true)
  expect(await calls(one(18))).toBe(503)
})

test('the operator finds the three kinds within three clicks, with the reason of each', async () => {
  const { page } = operator
  let clicks = 0
  const click = async (what: Locator) => {
    clicks += 1
    await what.click()
  }
  await page.goto(`${server.address}/console`)
  await click(page.getByRole('link', { name: 'Accounts' }))
  const account = page.getByRole('row').filter({ hasText: 'Harbour Reselling' })
  await click(account.getByRole('button', { name: 'Act for' }))
  for (const at of [18, 19]) await page.getByRole('link', { name: `${one(at).label}: ` }).waitFor()
  await click(page.getByRole('navigation').getByRole('link', { name: 'Calls', exact: true }))
  const rows = page.getByRole('table', { name: 'Calls' }).getByRole('row')
  for (const [tenant, reason] of [
    [one(19), '402 insufficient balance: monthly cap'],
    [one(17), '400 invalid'],
    [one(18), '503 '],
  ] as const)
    await rows.filter({ hasText: tenant.label }).filter({ hasText: reason }).first().waitFor()
  expect(clicks).toBe(3)
})

/** What a tenant can read without naming anything, by the API's own reference. */
const readable = async (): Promise<readonly string[]> => {
  const file = await Bun.file(resolve(import.meta.dir, '../../docs/openapi.json')).json()
  return Object.entries(file.paths as Record<string, object>)
    .filter(([path, ways]) => 'get' in ways && /^\/(?:v1|api)\//.test(path) && !path.includes('{'))
    .map(([path]) => path)
}

/** The ledger's own charges: each call, and each tenant's sum. */
const charges = () => {
  const ledger = new Database(join(home, 'ledger.db'), { readonly: true })
  const rows = ledger
    .query("select key_id as id, cast(amount as text) as amount from transfer where kind = 'usage'")
    .all() as readonly { readonly id: string; readonly amount: string }[]
  ledger.close()
  const sums = new Map<string, Nano>()
  for (const { id, amount } of rows) sums.set(id, (sums.get(id) ?? 0n) + BigInt(amount))
  return { calls: rows.map(({ amount }) => BigInt(amount)), sums }
}

test('no byte of what tenants were answered tells our price', async () => {
  const paths = await readable()
  expect(paths.length).toBeGreaterThan(10)
  for (const path of paths) await asks(one(3), path)
  for (const tenant of tenants)
    for (const path of ['/v1/usage', '/v1/usage?group_by=day,model', '/v1/calls', '/v1/models'])
      expect([path, await asks(tenant, path)]).toEqual([path, 200])
  const { calls: each, sums } = charges()
  expect([each.length >= 40, sums.size]).toEqual([true, 20])
  const told = answers.join('\n')
  const forms = (amount: Nano) => [decimalFromNano(amount), String(amount)]
  const ours = [...each, ...sums.values()].flatMap(forms)
  const rates = Object.values(PRICES).flatMap((usd) => [usd, String(Number(usd) / 1e6)])
  // What is looked for is nothing that another number contains by chance.
  expect(ours.filter((text) => text.replace(/\D/g, '').replace(/^0+|0+$/g, '').length < 5)).toEqual([])
  expect([...ours, ...rates].filter((text) => told.includes(text))).toEqual([])
  expect(each.filter((amount) => !told.includes(decimalFromNano(billedFor(amount, MARGIN))))).toEqual([])
})

/** What a tenant owes in cents of EUR, worked out from the ledger: the price, rounded once, and the tax of it. */
const owed = (charged: Nano): { readonly net: bigint; readonly total: bigint } => {
  const net = (billedFor(charged, MARGIN) * RATE * 2n + 10n ** 16n) / (2n * 10n ** 16n)
  return { net, total: net + (net * TAX * 2n + 100n) / 200n }
}
const cents = (text: string): bigint => BigInt(text.replace('.', ''))

/** Run in an empty page: draws the first sheet of a file with the same library that reads its text. */
const drawing = (library: string, file: string): string => `(async () => {
  const { getDocument } = await import('data:text/javascript;base64,${library}')
  const data = Uint8Array.from(atob('${file}'), (letter) => letter.charCodeAt(0))
  const sheet = await (await getDocument({ data }).promise).getPage(1)
  const viewport = sheet.getViewport({ scale: 1.5 })
  const canvas = document.body.appendChild(document.createElement('canvas'))
  Object.assign(canvas, { width: viewport.width, height: viewport.height })
  const context = canvas.getContext('2d')
  await sheet.render({ canvas, canvasContext: context, viewport }).promise
  const { data: dots } = context.getImageData(0, 0, canvas.width, canvas.height)
  let ink = 0
  for (let at = 0; at < dots.length; at += 4) if (dots[at] < 128) ink += 1
  return ink / (canvas.width * canvas.height)
})()`

const drawn = async (pdf: Buffer): Promise<number> => {
  const { page } = await browser.newPage({ viewport: { width: 893, height: 1263 } })
  await page.setContent('<style>body { margin: 0 } canvas { display: block }</style>')
  const library = await readFile(fileURLToPath(import.meta.resolve('unpdf/pdfjs')))
  const ink = Number(await page.evaluate(drawing(library.toString('base64'), pdf.toString('base64'))))
  if (process.env.WRITE_PICTURES === 'yes') await page.screenshot({ path: `${PICTURES}/invoice.png` })
  return ink
}

test('the month turns and is billed: each invoice is the rounded sum of the ledger, and its sheet can be read', async () => {
  server.child.kill('SIGTERM')
  await server.child.exited
  const { sums } = charges()
  const ahead = nextMonthStart(Date.now()) + 3 * 3_600_000 - Date.now()
  const now = () => Date.now() + ahead
  const hash = hashOfSettings({ secret: new Secret(SECRET) } as Config)
  const it = await listenConsole({
    url: `sqlite:${join(home, 'ledger.db')}`,
    ...(hash === undefined ? {} : { hash }),
    now,
    clock: { ...followingClock(now), now },
  })
  try {
    const { page, errors } = await browser.newPage(SIZE)
    await page.clock.setSystemTime(now())
    await page.goto(`${it.address}/console`)
    await page.getByLabel('E-mail address').fill(EMAIL)
    await page.getByRole('textbox', { name: 'Password' }).fill('a password of mine')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await go(page, 'Tenants')
    await page.getByRole('link', { name: 'Invoices' }).click()
    await page.getByRole('button', { name: 'Who bills' }).click()
    const form = page.getByRole('dialog')
    await form.getByLabel('Name').fill('Harbour Reselling Ltd')
    await form.getByLabel('Address').fill('12 Quay Street\nBristol')
    await form.getByLabel('What one USD costs in it').fill(decimalFromNano(RATE))
    await form.getByLabel('Numbers begin with').fill('HR-')
    await form.getByLabel('Taxes').fill(`VAT ${TAX}`)
    await form.getByRole('button', { name: 'Save' }).click()
    await form.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Close a month' }).click()
    await form.getByLabel('Month').selectOption(month)
    await page.getByRole('button', { name: 'Write invoices' }).click()
    await page.getByText(`${monthText(month)}: 20 invoices written`).waitFor()
    const session = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
    const { data } = await jsonOf(await it.withCookie(session)('GET', '/bills'))
    const bills = data as readonly {
      number: string
      tenant: string
      label: string
      net: string
      total: string
    }[]
    const due = bills.map(({ tenant }) => owed(sums.get(tenant) ?? 0n))
    expect(bills.map(({ net, total }) => ({ net: cents(net), total: cents(total) }))).toEqual(due)
    expect(bills.map(({ number }) => number).toSorted()).toEqual(
      Array.from({ length: 20 }, (_, at) => `HR-${String(at + 1).padStart(4, '0')}`),
    )
    const [{ number, net, total, label } = { number: '', net: '', total: '', label: '' }] = bills
    const pdf = await downloaded(page, `PDF of ${number}`)
    const { text } = await extractText(await getDocumentProxy(new Uint8Array(pdf)), { mergePages: true })
    for (const said of [`Invoice ${number}`, label, MODEL, `${net} EUR`, `VAT ${TAX} %`, `${total} EUR`])
      expect(text).toContain(said)
    const ours = [...sums.values()].map(decimalFromNano)
    expect(ours.filter((cost) => text.includes(cost))).toEqual([])
    const ink = await drawn(pdf)
    expect(ink).toBeGreaterThan(0.002)
    expect(ink).toBeLessThan(0.2)
    expect(errors).toEqual([])
  } finally {
    await it.stop()
  }
})
