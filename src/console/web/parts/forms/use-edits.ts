/**
 * A form over what is stored. Fields that nobody touched follow what is stored, also when another person or key changes
 * it, and only what was changed here is sent: else a page that was opened earlier would undo the other's change.
 */
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queries } from '../api.ts'
import type { Sendable } from './one-at-a-time.ts'

type Texts = Readonly<Record<string, string>>

/** The texts of the form, what changes them, and what sends them; what is typed while they are sent stays. */
export const useEdits = <Stored extends Texts>(stored: Stored, send: (texts: Stored) => Promise<unknown>) => {
  const [edits, setEdits] = useState<Partial<Stored>>({})
  const saved = (texts: Stored) =>
    setEdits(
      (before) =>
        Object.fromEntries(
          Object.entries(before).filter(([name, text]) => text !== texts[name]),
        ) as Partial<Stored>,
    )
  const save = useMutation({
    mutationFn: send,
    onSuccess: async (_, texts) => {
      await queries.invalidateQueries()
      saved(texts)
    },
  })
  const edit = (more: Partial<Stored>) => setEdits((before) => ({ ...before, ...more }))
  const texts = { ...stored, ...edits } as Stored
  const { isPending, isSuccess, error } = save
  const mutate: Sendable['mutate'] = (_nothing, then) => save.mutate(texts, then)
  return { texts, edit, save: { isPending, isSuccess, error, mutate } }
}

/** The members of a body that differ from those of another. */
export const differing = <Body extends object>(now: Body, was: Partial<Body> | undefined): Partial<Body> =>
  Object.fromEntries(
    Object.entries(now).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(was?.[name as keyof Body]),
    ),
  ) as Partial<Body>
