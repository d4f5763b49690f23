/** A form in a dialog: its fields, what went wrong, and the button that sends it. */
import { Button, Group, Stack } from '@mantine/core'
import type { FormEvent, ReactNode } from 'react'
import { Failed } from './ui.tsx'

export const DialogForm = ({
  save,
  verb,
  ready = true,
  danger = false,
  children,
}: {
  /** The request to send, as a mutation without variables. */
  save: { readonly mutate: () => void; readonly isPending: boolean; readonly error: unknown }
  verb: string
  /** Whether the entries can be sent. */
  ready?: boolean
  danger?: boolean
  children: ReactNode
}) => {
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (ready) save.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        {children}
        <Failed error={save.error} />
        <Group justify="flex-end">
          <Button
            type="submit"
            loading={save.isPending}
            disabled={!ready}
            {...(danger ? { color: 'red.8' } : {})}
          >
            {verb}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
