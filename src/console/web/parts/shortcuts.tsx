/** Keyboard shortcuts: `/` goes to the page's search, `?` lists them all, `g` and a letter open a page. */
import { Table } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { Dialog } from './dialog.tsx'
import type { Place } from './places.tsx'
import { Aside } from './ui.tsx'

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz'

/** The letter that opens a page after `g`: the first letter of its name that no earlier page has, or of the alphabet. */
const lettersOf = (places: readonly Place[]): ReadonlyMap<string, Place> => {
  const taken = new Map<string, Place>()
  for (const place of places) {
    const letter = [...place.name.toLowerCase(), ...ALPHABET].find(
      (one) => ALPHABET.includes(one) && !taken.has(one),
    )
    if (letter !== undefined) taken.set(letter, place)
  }
  return taken
}

const isTyping = ({ target }: Event): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

const searchOfPage = (): HTMLElement | null =>
  document.querySelector('main input[aria-label^="Search"], main input[type="search"]')

const Help = ({ letters }: { letters: ReadonlyMap<string, Place> }) => (
  <Table verticalSpacing={4} aria-label="Keyboard shortcuts">
    <Table.Tbody>
      {[
        ['/', 'Search on this page'],
        ['?', 'This list'],
        ['Esc', 'Close a dialog'],
        ...[...letters].map(([letter, { name }]) => [`g ${letter}`, name]),
      ].map(([keys, what]) => (
        <Table.Tr key={keys}>
          <Table.Td className="mono">{keys}</Table.Td>
          <Table.Td>{what}</Table.Td>
        </Table.Tr>
      ))}
    </Table.Tbody>
  </Table>
)

export const Shortcuts = ({ places, acts }: { places: readonly Place[]; acts: readonly string[] }) => {
  const [opened, setOpened] = useState(false)
  const navigate = useNavigate()
  const going = useRef(false)
  const letters = lettersOf(
    places.filter((place) => place.acts === undefined || place.acts.some((act) => acts.includes(act))),
  )
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      // Another page takes a dialog with it, and a key that is shown only once.
      const isElsewhere = !opened && document.querySelector('[role="dialog"]') !== null
      if (isElsewhere || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return
      const chosen = going.current ? letters.get(event.key) : undefined
      going.current = event.key === 'g'
      if (chosen !== undefined) void navigate({ to: chosen.to })
      else if (event.key === '?') setOpened(true)
      else if (event.key === '/') {
        const search = searchOfPage()
        if (search === null) return
        event.preventDefault()
        search.focus()
      }
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  })
  return (
    <Dialog opened={opened} onClose={() => setOpened(false)} title="Keyboard shortcuts">
      <Help letters={letters} />
      <Aside mt="sm">They work when no field has the focus.</Aside>
    </Dialog>
  )
}
