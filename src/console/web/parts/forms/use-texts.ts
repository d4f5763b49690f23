/** What is typed into a form: one text for each of its fields, bound to them by name. */
import { useState } from 'react'
import { AMOUNT_HINT, typedUsd } from '../format.ts'

type Typing = { readonly currentTarget: { readonly value: string } }

/** A function that gives a field its label, its text and what changes that. */
export const fieldsOf =
  <Texts extends Readonly<Record<string, string>>>(texts: Texts, edit: (more: Partial<Texts>) => void) =>
  (name: keyof Texts, label: string, description?: string) => ({
    label,
    ...(description === undefined ? {} : { description }),
    value: texts[name] as string,
    onChange: ({ currentTarget: { value } }: Typing) => edit({ [name]: value } as Partial<Texts>),
  })

/** The texts of a new form, what changes them, and its fields. */
export const useTexts = <Texts extends Readonly<Record<string, string>>>(begin: Texts) => {
  const [texts, setTexts] = useState(begin)
  const edit = (more: Partial<Texts>) => setTexts((before) => ({ ...before, ...more }))
  return { texts, edit, field: fieldsOf(texts, edit) }
}

/** What a field for a name has beside its text: the browser takes spaces for one. */
export const nameIn = (text: string) => ({
  error: text !== '' && text.trim() === '' ? 'More than spaces' : undefined,
})

/** What a field for an amount has beside its text. */
export const amountIn = (text: string) =>
  ({ inputMode: 'decimal', error: typedUsd(text) === null ? AMOUNT_HINT : undefined }) as const
