/** An owner makes a team, puts somebody in it, changes and ends it, on a small screen in either scheme. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import { SUB_TAG } from '../../src/tenancy/tags.ts'
import { until } from '../until.ts'
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

const axe = await Bun.file(fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))).text()
const barriers = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id }) => id))`
const widthOver = 'document.documentElement.scrollWidth - window.innerWidth'

for (const colorScheme of ['light', 'dark'] as const)
  test(`a team from its making to its end, ${colorScheme}`, async () => {
    const { page, errors } = await browser.newPage({
      viewport: { width: 360, height: 900 },
      colorScheme,
      reducedMotion: 'reduce',
    })
    const name = `Platform ${colorScheme}`
    await it.visit(`dev-${colorScheme}@example.com`, 'developer')
    await it.enter(page, 'olga@example.com', 'owner')
    await page.goto(`${it.address}/console/team`)
    const looks = async () => {
      await settled(page)
      await page.evaluate(axe)
      expect([await page.evaluate(barriers), Number(await page.evaluate(widthOver))]).toEqual([[], 0])
    }
    await page.getByRole('button', { name: 'Create team' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByLabel('Budget in USD').fill('12.5')
    await looks()
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('button', { name: `People: ${name}` }).click()
    await dialog.getByLabel('Add somebody').selectOption({ label: `dev-${colorScheme}@example.com` })
    await dialog
      .getByLabel(`Role of dev-${colorScheme}@example.com in the team`)
      .selectOption({ label: 'Admin: all keys of the team' })
    const roles = async () =>
      (await it.store.teams.teamMembers('org_test')).map(({ email, role }) => `${email} ${role}`)
    await until(async () => (await roles()).includes(`dev-${colorScheme}@example.com admin`))
    await looks()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: `Change: ${name}` }).click()
    await dialog.getByLabel('Budget in USD').fill('20')
    await dialog.getByLabel('In a month, in USD').fill('3')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await until(
      async () => (await it.store.teams.teams({ orgId: 'org_test' }))[0]?.budget === 20_000_000_000n,
    )
    await page.getByLabel(`Month of ${name}`).waitFor({ state: 'attached' })
    const month = {
      walletId: it.wallet,
      tag: SUB_TAG,
      value: (await it.store.teams.teams({ orgId: 'org_test' }))[0]?.id ?? '',
    }
    expect(await it.store.tagBudgets.tagBudget(month)).toMatchObject({ caps: { monthlyCap: 3_000_000_000n } })
    await page.getByRole('button', { name: 'Add group' }).click()
    await dialog.getByLabel('Group').fill('engineers')
    await dialog.getByLabel('Role', { exact: true }).selectOption('developer')
    await dialog.getByLabel('Team', { exact: true }).selectOption({ label: name })
    await looks()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: `${name} (member)` }).waitFor()
    await page.getByLabel('Everybody else').selectOption({ label: 'is kept out' })
    const rule = async () => await it.store.directory.groupRule('org_test')
    await until(async () => (await rule())?.defaultRole === null)
    expect((await rule())?.groups).toMatchObject([
      { group: 'engineers', role: 'developer', teamRole: 'member' },
    ])
    await page.getByRole('button', { name: 'Remove the group engineers' }).click()
    await until(async () => (await rule())?.groups.length === 0)
    await looks()
    await page.getByRole('button', { name: `End: ${name}` }).click()
    await dialog.getByRole('button', { name: 'End team' }).click()
    await page.getByText('No teams').waitFor()
    expect(errors).toEqual([])
  })

test('a sub-wallet, whose form is the same, from its making to its end', async () => {
  const { page, errors } = await browser.newPage({ reducedMotion: 'reduce' })
  await it.enter(page, 'olga@example.com', 'owner')
  await page.goto(`${it.address}/console/rules`)
  await page.getByRole('button', { name: 'Create sub-wallet' }).click()
  const dialog = page.getByRole('dialog')
  const row = page.getByRole('row').filter({ hasText: 'Night runs' })
  await dialog.getByLabel('Name').fill('Night runs')
  await dialog.getByLabel('Ceiling in USD').fill('10001')
  await dialog.getByRole('button', { name: 'Create' }).click()
  // More than a sub-wallet may have is not sent.
  await settled(page)
  expect([await dialog.isVisible(), await row.count()]).toEqual([true, 0])
  await dialog.getByLabel('Ceiling in USD').fill('3')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await row.getByText('$3').first().waitFor()
  await row.getByRole('button', { name: 'Change' }).click()
  await dialog.getByLabel('Ceiling in USD').fill('4.5')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await row.getByText('$4.5').first().waitFor()
  await row.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete sub-wallet' }).click()
  await row.waitFor({ state: 'detached' })
  expect(errors).toEqual([])
})

test('a group that was refused is corrected and sent again, and one team is not told what ending another one met', async () => {
  const { page } = await browser.newPage({ reducedMotion: 'reduce' })
  await it.enter(page, 'olga@example.com', 'owner')
  await page.goto(`${it.address}/console/team`)
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Add group' }).click()
  await dialog.getByLabel('Group').fill('g'.repeat(201))
  await dialog.getByLabel('Role', { exact: true }).selectOption('viewer')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').waitFor()
  await dialog.getByLabel('Group').fill('guests')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('cell', { name: 'guests', exact: true }).waitFor()
  for (const name of ['East', 'West']) {
    await page.getByRole('button', { name: 'Create team' }).click()
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByLabel('Budget in USD').fill('5')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('button', { name: `End: ${name}` }).waitFor()
  }
  await page.route('**/console/api/teams/*', (route) => route.abort())
  await page.getByRole('button', { name: 'End: East' }).click()
  await dialog.getByRole('button', { name: 'End team' }).click()
  await dialog.getByRole('alert').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'End: West' }).click()
  await dialog.getByText('End West?').waitFor()
  expect(await dialog.getByRole('alert').count()).toBe(0)
})
