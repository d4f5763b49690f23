/** The keyboard alone: Tab until something has the focus; the focus must be visible. */
import type { Page } from 'playwright-core'

const PRESSES = 80

/** What has the focus: its name, and whether a frame around it shows that. Passed to the page as a text. */
const focused = `(() => {
  const it = document.activeElement
  if (it === null || it === document.body) return { name: '', seen: true }
  const name = (it.getAttribute('aria-label') ?? it.labels?.[0]?.textContent ?? it.textContent ?? '').trim()
  const { outlineStyle, outlineWidth } = getComputedStyle(it)
  return { name, seen: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1 }
})()`

/** Presses Tab until the element with this name has the focus. Throws where nothing shows the focus. */
export const tabTo = async (page: Page, name: string): Promise<void> => {
  const passed: string[] = []
  for (let presses = 0; presses < PRESSES; presses++) {
    await page.keyboard.press('Tab')
    const found = (await page.evaluate(focused)) as { name: string; seen: boolean }
    if (!found.seen) throw new Error(`the focus on ${found.name} cannot be seen`)
    if (found.name === name) return
    passed.push(found.name)
  }
  throw new Error(`no press of Tab reaches ${name}, only ${passed.join(', ')}`)
}
