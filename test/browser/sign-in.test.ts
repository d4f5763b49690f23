/**
 * Getting in, by hand: an invitation, a passkey of a virtual device, a company's provider; and nobody sees what is not
 * theirs.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import readQr from 'jsqr'
import type { BrowserContext, Page } from 'playwright-core'
import { Secret } from '../../src/core/secret.ts'
import { type Issuer, startIssuer } from '../console/issuer.ts'
import { codeOf } from '../console/totp-code.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'
import { type ListeningConsole, listenConsole } from './rig.ts'
import { signInByLink } from './sign-in-by-link.ts'

let browser: TestBrowser
let issuer: Issuer
let it: ListeningConsole
/** Passkeys need host names, not addresses. */
let address: string
beforeAll(async () => {
  browser = await openBrowser()
  issuer = await startIssuer()
  it = await listenConsole({
    settings: {
      signUp: 'invite',
      oidcIssuer: issuer.address,
      oidcClientId: issuer.client.id,
      oidcClientSecret: new Secret(issuer.client.secret),
      oidcName: 'Acme',
    },
  })
  address = it.address.replace('127.0.0.1', 'localhost')
})
afterAll(async () => {
  await browser.close()
  await it.stop()
  await issuer.stop()
})

const size = { viewport: { width: 1280, height: 900 } }
const overview = (page: Page) => page.getByRole('heading', { name: 'Overview' }).waitFor()

/** A device with a finger on it, or one that asks for none. */
const addDevice = async (context: BrowserContext, page: Page, userVerification = true) => {
  const devtools = await context.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: userVerification,
      automaticPresenceSimulation: true,
    },
  })
  return { devtools, authenticatorId }
}

test('somebody who was invited opens the link, sets a password, makes a key, and comes back by the password', async () => {
  const inviter = await browser.newPage(size)
  await it.enter(inviter.page, 'owner@example.com', 'owner')
  await inviter.page.getByRole('link', { name: 'Team' }).click()
  await inviter.page.getByRole('button', { name: 'Invite' }).click()
  await inviter.page.getByLabel('E-mail address').fill('dev@example.com')
  await inviter.page.getByLabel('Role', { exact: true }).selectOption('developer')
  await inviter.page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click()
  const link = (await inviter.page.getByLabel('link of the invitation', { exact: true }).textContent()) ?? ''
  const { page, errors } = await browser.newPage(size)
  await signInByLink(page, link)
  // A developer sees own keys only, and neither wallet nor tenants.
  expect(await page.getByRole('link', { name: 'Wallet' }).count()).toBe(0)
  await page.getByText('Spent today').waitFor()
  expect(await page.getByText('Balance').count()).toBe(0)
  await page.getByRole('link', { name: 'Keys' }).click()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('dialog').getByLabel('Label').fill('mine')
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Copy the key now').waitFor()
  await page.getByRole('button', { name: 'I have copied it' }).click()
  await page.getByText('dev@example.com').first().click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  const signIn = async () => {
    await page.getByLabel('E-mail address').fill('dev@example.com')
    await page.getByRole('textbox', { name: 'Password' }).fill('a password of mine')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  }
  await signIn()
  await overview(page)
  await page.getByText('dev@example.com').first().click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('E-mail address').waitFor()
  // Whoever has to sign in on the way to a page gets there; an address elsewhere is no such page.
  await page.goto(`${it.address}/console/keys?search=mine`)
  await signIn()
  await page.getByRole('row').filter({ hasText: 'mine' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/console/keys')
  await page.getByText('dev@example.com').first().click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('E-mail address').waitFor()
  await page.goto(`${it.address}/console/sign-in?to=//elsewhere.invalid/keys`)
  await signIn()
  await overview(page)
  expect(errors).toEqual([])
})

/** What the QR code on the page says, as a third party reads its pixels. */
const shownQr = async (page: Page): Promise<string> => {
  const drawn = (await page.evaluate(`(async () => {
    const svg = document.querySelector('svg[aria-label^="QR code"]')
    const size = svg.viewBox.baseVal.width * 5
    const image = new Image()
    image.src = 'data:image/svg+xml,' + encodeURIComponent(new XMLSerializer().serializeToString(svg))
    await image.decode()
    const canvas = Object.assign(document.createElement('canvas'), { width: size, height: size })
    const context = canvas.getContext('2d')
    context.fillStyle = '#fff'
    context.fillRect(0, 0, size, size)
    context.drawImage(image, 0, 0)
    return { size, pixels: [...context.getImageData(0, 0, size, size).data] }
  })()`)) as { size: number; pixels: number[] }
  return readQr(Uint8ClampedArray.from(drawn.pixels), drawn.size, drawn.size)?.data ?? 'none'
}

test('a new link signs in also on the page that a used one has left open', async () => {
  await it.visit('again@example.com', 'developer')
  const { page } = await browser.newPage(size)
  await page.goto(`${it.address}/console/link#used-up`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  // Only the part behind the # is another one, so the browser keeps the page.
  await page.goto(it.addressOfLink(it.address, await it.link('again@example.com')))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await overview(page)
})

test('at an IP address the page says why there can be no passkey there', async () => {
  const { page, errors } = await browser.newPage(size)
  await page.goto(`${it.address}/console/sign-in`)
  await page.getByText('this page was opened at an IP address (127.0.0.1)').waitFor()
  expect(await page.getByRole('button', { name: 'Use a passkey' }).count()).toBe(0)
  await it.enter(page, 'address@example.com', 'owner')
  await page.goto(`${it.address}/console/settings`)
  await page.getByText('Open the console by its name').waitFor()
  expect(await page.getByRole('button', { name: 'Add a passkey' }).count()).toBe(0)
  // Nobody sends mail here, so whoever has no password is told who gives the link that sets one.
  await page.getByText('turnpike person reset-link').waitFor()
  // A page is no answer of the API.
  expect((await page.request.get(`${it.address}/console/api/nowhere`)).status()).toBe(404)
  expect(errors.filter((error) => !error.includes('401'))).toEqual([])
})

test('a second factor is set up, is asked for with a link, and is turned off by a code', async () => {
  const { page, errors } = await browser.newPage(size)
  const email = 'codes@example.com'
  await it.enter(page, email, 'owner')
  const newLink = async () => it.addressOfLink(it.address, await it.link(email))
  await page.goto('about:blank')
  await signInByLink(page, await newLink())
  await page.goto(`${it.address}/console/settings`)
  await page.getByRole('textbox', { name: 'Your password' }).fill('a password of mine')
  await page.getByRole('button', { name: 'Set up a second factor' }).click()
  const secret = (await page.getByLabel('secret for the app', { exact: true }).textContent()) ?? ''
  const uri = new URL(await shownQr(page))
  expect([uri.protocol, uri.host, uri.searchParams.get('secret')]).toEqual([
    'otpauth:',
    'totp',
    secret.trim(),
  ])
  const backup = (await page.getByLabel('backup codes', { exact: true }).textContent()) ?? ''
  await page.getByLabel('The code it shows now').fill(codeOf(secret.trim()))
  await page.getByRole('button', { name: 'Turn on' }).click()
  await page.getByRole('button', { name: 'Turn off' }).waitFor()
  const [first = '', second = ''] = backup.trim().split(/\s+/)
  await page.goto('about:blank')
  await page.goto(await newLink())
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('Code of your authenticator app').fill(first)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await overview(page)
  await page.goto(`${it.address}/console/settings`)
  await page.getByLabel('A code of the app, or a backup code').fill(second)
  await page.getByRole('textbox', { name: 'Your password' }).fill('a password of mine')
  await page.getByRole('button', { name: 'Turn off' }).click()
  await page.getByRole('button', { name: 'Set up a second factor' }).waitFor()
  // The browser tells of the 401 that asks for the code.
  expect(errors.filter((error) => !error.includes('401'))).toEqual([])
})

test('a console on this machine is reached while the browser says that there is no network', async () => {
  const { page } = await browser.newPage(size)
  await page.addInitScript(`setInterval(() => dispatchEvent(new Event('offline')), 20)`)
  await it.enter(page, 'offline@example.com', 'owner')
  await page.getByRole('link', { name: 'Keys' }).click()
  await page.getByRole('button', { name: 'Create key' }).waitFor()
})

test('a passkey is made, signs in with nothing else, and not where the device did not know the person', async () => {
  const { page, context, errors } = await browser.newPage(size)
  await page.goto(
    it.addressOfLink(address, await it.link((await it.visit('key@example.com', 'admin')).email)),
  )
  await page.getByRole('button', { name: 'Sign in' }).click()
  await overview(page)
  const { devtools, authenticatorId } = await addDevice(context, page)
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByLabel('Name of the passkey').fill('my laptop')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('my laptop').waitFor()
  await page.getByText('key@example.com').first().click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await overview(page)
  const [last] = await it.store.events.list({ orgId: 'people', most: 1 })
  expect(last).toMatchObject({ what: 'person.signed_in', after: { how: 'passkey' } })
  await page.getByText('key@example.com').first().click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  // The finger is missing: the device gives nothing.
  await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByText('No passkey was used').waitFor()
  await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await overview(page)
  // Removed here, it opens nothing, although the device still has it.
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('button', { name: 'Remove my laptop' }).click()
  await page.getByText('my laptop').waitFor({ state: 'detached' })
  expect(errors).toEqual([])
  await page.getByText('key@example.com').first().click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByRole('alert').waitFor()
})

test('the company’s provider lets in who was added, and says so to who was not', async () => {
  await it.visit('employee@example.com', 'viewer')
  const { page, errors } = await browser.newPage(size)
  issuer.says({ sub: 'e1', email: 'employee@example.com', email_verified: true, name: 'Employee' })
  await page.goto(`${it.address}/console/sign-in`)
  await page.getByRole('button', { name: 'Sign in with Acme' }).click()
  await overview(page)
  const stranger = await browser.newPage(size)
  issuer.says({ sub: 'e2', email: 'stranger@example.com', email_verified: true, name: 'Stranger' })
  await stranger.page.goto(`${it.address}/console/sign-in`)
  await stranger.page.getByRole('button', { name: 'Sign in with Acme' }).click()
  await stranger.page.getByText('Acme did not let you in').waitFor()
  issuer.says({ sub: 'e3', email: 'employee@example.com', email_verified: false, name: 'Eve' })
  await stranger.page.getByRole('button', { name: 'Sign in with Acme' }).click()
  await stranger.page.getByText('Verify it at Acme and sign in again').waitFor()
  expect(errors).toEqual([])
})
