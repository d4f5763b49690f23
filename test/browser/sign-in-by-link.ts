/** Signing in for the first time, by a link and a new password, as a person does. */
import type { Page } from 'playwright-core'

/**
 * Opens the link, sets a password, and waits for the overview. While the page says to try again, as on a busy machine,
 * it does: a link is good until somebody is signed in.
 */
export const signInByLink = async (page: Page, link: string): Promise<void> => {
  const alert = page.getByRole('alert').first()
  const overview = page.getByRole('heading', { name: 'Overview' })
  await page.goto(link)
  await page.getByLabel('New password').fill('a password of mine')
  for (;;) {
    const answered = page.waitForResponse((response) => response.request().method() === 'POST')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await answered
    await overview
      .or(alert)
      .first()
      .waitFor()
      .catch(async (error: unknown) => {
        throw new Error(`nobody is signed in: ${await page.locator('body').innerText()}`, { cause: error })
      })
    if (await overview.isVisible()) return
    const said = await alert.textContent()
    if (said?.includes('try again') !== true) throw new Error(`nobody is signed in: ${said}`)
  }
}
