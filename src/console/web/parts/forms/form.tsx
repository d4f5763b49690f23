/** A form: its fields, what went wrong, the button that sends it, and what is missing if it cannot be sent yet. */
import { Button, Group, Stack } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'
import { Failed, Told } from '../ui.tsx'
import { type Sendable, useOneAtATime } from './one-at-a-time.ts'

type Props = {
  /** The request to send, as a mutation without variables. */
  readonly save: Sendable & {
    readonly isPending: boolean
    readonly isSuccess?: boolean
    readonly error: unknown
  }
  readonly verb: string
  /** Whether the entries can be sent. */
  readonly ready?: boolean
  /** What to do until they can: a grey button would not say it. */
  readonly hint?: string
  readonly danger?: boolean
  /** In a dialog the buttons stand at its right; at the front the one button is as wide as the fields. */
  readonly place?: 'dialog' | 'page' | 'front'
  readonly variant?: 'default'
  /** Said once it was sent. */
  readonly done?: ReactNode
  /** For who may look and not change. */
  readonly hidden?: boolean
  /** Beside the button. */
  readonly more?: ReactNode
  readonly children: ReactNode
}

export const Form = ({
  save,
  verb,
  ready = true,
  hint = 'First correct what is marked above.',
  danger = false,
  place = 'dialog',
  variant,
  done,
  more,
  hidden = false,
  children,
}: Props) => {
  const send = useOneAtATime(save)
  const [isHinted, setHinted] = useState(false)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    setHinted(!ready)
    if (ready) send()
    else event.currentTarget.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        {children}
        <Failed error={save.error} />
        {isHinted && !ready && <Told alert>{hint}</Told>}
        <Group
          {...(hidden ? { display: 'none' } : {})}
          justify={place === 'dialog' ? 'flex-end' : 'flex-start'}
          gap="xs"
          grow={place === 'front'}
        >
          <Button
            type="submit"
            loading={save.isPending}
            {...(danger ? { color: 'red.8' } : {})}
            {...(variant === undefined ? {} : { variant })}
          >
            {verb}
          </Button>
          {more}
          {save.isSuccess === true && done !== undefined && <Told>{done}</Told>}
        </Group>
      </Stack>
    </form>
  )
}
