/** What is wrong with the text that a page has drawn: one over another, or cut off without a way to read it. */
import type { Page } from 'playwright-core'

/**
 * Run in the page. Each line of a text is a rectangle, cut by what its ancestors show of it. Under a dialog only the text
 * of the dialog counts, and what stays in place while the rest scrolls is never compared with that.
 */
const LOOK = `(() => {
  const top = document.querySelector('[role=dialog]') ?? document.body
  const styles = new Map()
  const styleOf = (one) => styles.get(one) ?? (styles.set(one, getComputedStyle(one)), styles.get(one))
  const lines = []
  const cut = []
  const walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node.textContent.trim()
    const parent = node.parentElement
    if (text === '' || parent === null || parent.closest('script, style, option, .hide, [aria-hidden=true]') !== null) continue
    if (!parent.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    for (const whole of range.getClientRects()) {
      let { left, right, top: above, bottom } = whole
      let layer = ''
      let isCut = false
      for (let one = parent; one !== null; one = one.parentElement) {
        const style = styleOf(one)
        if (style.position === 'fixed' || style.position === 'sticky') layer = layer || one.className || one.tagName
        if (style.display === 'inline') continue
        const box = one.getBoundingClientRect()
        const hides = (value) => value === 'hidden' || value === 'clip'
        if (style.overflowX !== 'visible') {
          if (hides(style.overflowX) && (right > box.right + 1.5 || left < box.left - 1.5)
            && !(style.textOverflow === 'ellipsis' && one.closest('[title]') !== null)) isCut = true
          left = Math.max(left, box.left)
          right = Math.min(right, box.right)
        }
        if (style.overflowY !== 'visible') {
          if (hides(style.overflowY) && (bottom > box.bottom + 3 || above < box.top - 3) && bottom > box.top && above < box.bottom) isCut = true
          above = Math.max(above, box.top)
          bottom = Math.min(bottom, box.bottom)
        }
      }
      if (isCut) cut.push('cut: ' + text.slice(0, 60))
      if (right - left > 2 && bottom - above > 2) lines.push({ text, parent, layer, left, right, above, bottom })
    }
  }
  const over = []
  lines.sort((one, other) => one.above - other.above)
  for (const [at, one] of lines.entries())
    for (let next = at + 1; next < lines.length && lines[next].above < one.bottom - 3; next++) {
      const other = lines[next]
      if (one.parent === other.parent || one.layer !== other.layer) continue
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left)
      const tall = Math.min(one.bottom, other.bottom) - other.above
      if (wide > 3 && tall > 3) over.push('over each other: ' + one.text.slice(0, 40) + ' | ' + other.text.slice(0, 40))
    }
  return [...new Set([...cut, ...over])]
})()`

/** One line for each thing that is wrong. */
export const wrongText = async (page: Page): Promise<readonly string[]> =>
  (await page.evaluate(LOOK)) as readonly string[]
