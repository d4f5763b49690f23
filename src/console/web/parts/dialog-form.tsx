/** A form in a dialog: its fields, what went wrong, and the button that sends it. */
import { Button, Group, Stack } from '@mantine/core'
import type { FormEvent, ReactNode } from 'react'
import { type Sendable, useOneAtATime } from './one-at-a-time.ts'
import { Failed } from './ui.tsx'

export const DialogForm = ({
  save,
  verb,
  ready = true,
  danger = false,
  children,
}: {
  /** The request to send, as a mutation without variables. */
  save: Sendable & { readonly isPending: boolean; readonly error: unknown }
  verb: string
  /** Whether the entries can be sent. */
  ready?: boolean
  danger?: boolean
  children: ReactNode
}) => {
  const send = useOneAtATime(save)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (ready) send()
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
