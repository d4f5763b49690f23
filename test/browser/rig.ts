/** A console on a port, for a browser: a test server that listens, with somebody to sign in. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { listen } from '../../src/http/listen/listen.ts'
import type { Role } from '../../src/store/people/people-port.ts'
import { ensurePerson, startConsole } from '../console/rig.ts'

export type ListeningConsole = Awaited<ReturnType<typeof startConsole>> & {
  readonly address: string
  /** The file of the ledger. */
  readonly file: string
  /** Opens the page of a one-time link of a person with that role, and signs in. */
  enter(page: Page, email: string, role: Role, operator?: boolean): Promise<void>
}

/**
 * Opens a link and signs in. When the page says to try again, as on a busy machine, it does what a person would. Each
 * try has its own link: the one before may be used up.
 */
const signIn = async (page: Page, newLink: () => Promise<string>): Promise<void> => {
  const alert = page.getByRole('alert').first()
  const overview = page.getByRole('heading', { name: 'Overview' })
  for (;;) {
    // Changing only the part behind the # would leave the page as it is.
    await page.goto('about:blank')
    await page.goto(await newLink())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await overview.or(alert).first().waitFor()
    if (await overview.isVisible()) return
    const said = await alert.textContent()
    if (said?.includes('try again') !== true) throw new Error(`nobody is signed in: ${said}`)
  }
}

export const listenConsole = async (
  setup: Parameters<typeof startConsole>[0] = {},
  port = 0,
): Promise<ListeningConsole> => {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-console-'))
  const file = join(folder, 'ledger.db')
  const it = await startConsole({ url: `sqlite:${file}`, ...setup })
  const listening = listen(it, { hostname: '127.0.0.1', port, shared: false })
  const address = `http://127.0.0.1:${listening.port}`
  return {
    ...it,
    address,
    file,
    enter: async (page, email, role, operator = false) => {
      const person = await ensurePerson(it.store.people, {
        email,
        name: email.split('@')[0] ?? email,
        now: Date.now(),
      })
      const by = { kind: 'command', id: 'test', name: 'test' } as const
      await it.store.members.put({ orgId: 'org_test', personId: person.id, role }, by)
      if (operator) await it.store.members.setOperator(person.id, true, by)
      await signIn(page, async () => it.addressOfLink(address, await it.link(email)))
    },
    stop: async () => {
      listening.stop()
      await it.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
