/** Controls of a page, found in the tree that the browser makes for assistive technology, and turned one by one. */
import type { CDPSession, Page } from 'playwright-core'

export type Control = {
  readonly role: string
  readonly name: string
  /** Which one of those with this role and name. */
  readonly nth: number
  readonly node: number
}

/** Roles of what can be turned; links lead to pages, which are turned by themselves. */
const turnable = new Set([
  ...['button', 'checkbox', 'switch', 'radio', 'tab', 'menuitem'],
  ...['combobox', 'listbox', 'textbox', 'searchbox', 'spinbutton', 'slider', 'Date'],
])

type AxValue = { readonly value?: unknown }
type AxNode = {
  readonly ignored: boolean
  readonly role?: AxValue
  readonly name?: AxValue
  readonly backendDOMNodeId?: number
  readonly properties?: readonly { readonly name: string; readonly value: AxValue }[]
}

const treeOf = async (session: CDPSession): Promise<readonly AxNode[]> =>
  (await session.send('Accessibility.getFullAXTree')).nodes as readonly AxNode[]

/** The controls of the page as it is, in their order, without disabled ones. */
export const controlsOf = async (session: CDPSession): Promise<readonly Control[]> => {
  const seen = new Map<string, number>()
  return (await treeOf(session)).flatMap(
    ({ ignored, role, name, backendDOMNodeId: node, properties = [] }) => {
      const [kind, called] = [String(role?.value), String(name?.value ?? '')]
      const off = properties.some((one) => one.name === 'disabled' && one.value.value === true)
      if (ignored || off || node === undefined || !turnable.has(kind)) return []
      const nth = seen.get(`${kind} ${called}`) ?? 0
      seen.set(`${kind} ${called}`, nth + 1)
      return [{ role: kind, name: called, nth, node }]
    },
  )
}

/** The addresses below the console to which the links of the page lead. */
export const linksOf = async (page: Page): Promise<readonly string[]> =>
  (await page.evaluate(
    `[...document.querySelectorAll('a[href]')].filter((one) => !one.hasAttribute('download')).map((one) => one.href)`,
  )) as readonly string[]

const MARK = 'data-turned'

/** A locator for exactly this element; undefined if it has gone, or is a part of what the browser itself draws, as of a date. */
const located = async (page: Page, session: CDPSession, { node }: Control) => {
  const { object } = await session.send('DOM.resolveNode', { backendNodeId: node })
  const mark = String(node)
  const { result } = await session.send('Runtime.callFunctionOn', {
    objectId: object.objectId ?? '',
    functionDeclaration: `function () { this.setAttribute('${MARK}', '${mark}'); return this.getRootNode() === document }`,
    returnByValue: true,
  })
  return result.value !== true ? undefined : page.locator(`[${MARK}="${mark}"]`)
}

const typed: Readonly<Record<string, string>> = {
  date: '2026-11-20',
  number: '5',
  email: 'a@example.com',
  month: '2026-10',
}

/**
 * Turns a control as a person would: presses it, chooses each of its options, or types into it. After each step `look` is
 * called.
 */
export const turn = async (
  page: Page,
  session: CDPSession,
  control: Control,
  look: (step: string) => Promise<void>,
): Promise<void> => {
  const it = await located(page, session, control)
  if (it === undefined) return
  const [tag, type] = (await it.evaluate((one) => [one.tagName, one.getAttribute('type') ?? ''])) as [
    string,
    string,
  ]
  if (tag === 'SELECT') {
    const values = await it
      .locator('option')
      .evaluateAll((all) => all.map((one) => (one as unknown as { value: string }).value))
    for (const value of [...values, values[0] ?? '']) {
      await it.selectOption(value)
      await look(`choose ${value}`)
    }
    return
  }
  if (
    tag === 'TEXTAREA' ||
    (tag === 'INPUT' && !['checkbox', 'radio', 'button', 'submit', 'file'].includes(type))
  ) {
    await it.fill(typed[type] ?? 'something')
    await look('type')
    if (tag === 'TEXTAREA') return
    await page.keyboard.press('Enter')
    await look('type and press Enter')
    return
  }
  if (type === 'file') return
  const presses = control.role === 'switch' || control.role === 'checkbox' ? 2 : 1
  for (let press = 0; press < presses; press++) {
    await it.click()
    await look('press')
  }
}
