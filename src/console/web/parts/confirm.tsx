/** Asks before an act that is hard to undo, and names what will be done. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Dialog } from './dialog.tsx'
import { Failed } from './ui.tsx'

type Props = {
  readonly opened: boolean
  readonly title: string
  readonly verb: string
  readonly children: ReactNode
  /** A choice below the text. */
  readonly more?: ReactNode
  readonly pending: boolean
  readonly error: unknown
  readonly onYes: () => void
  readonly onClose: () => void
}

export const Confirm = ({ opened, title, verb, children, more, pending, error, onYes, onClose }: Props) => (
  <Dialog opened={opened} onClose={onClose} title={title}>
    <Stack>
      <Text size="sm">{children}</Text>
      {more}
      <Failed error={error} />
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <Button color="red.8" loading={pending} onClick={onYes}>
          {verb}
        </Button>
      </Group>
    </Stack>
  </Dialog>
)

/** The button of an act that asks first; `does` is a mutation without variables. */
export const Asked = ({
  verb,
  name = verb,
  title,
  yes,
  does,
  children,
}: {
  verb: string
  /** What it is called among others of its verb. */
  name?: string
  title: string
  yes: string
  does: { readonly isPending: boolean; readonly error: unknown; readonly mutateAsync: () => Promise<unknown> }
  children: ReactNode
}) => {
  const [opened, setOpened] = useState(false)
  const close = () => setOpened(false)
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={() => setOpened(true)} aria-label={name}>
        {verb}
      </Button>
      <Confirm
        {...{ opened, title, verb: yes, pending: does.isPending, error: does.error, onClose: close }}
        onYes={() => void does.mutateAsync().then(close, () => {})}
      >
        {children}
      </Confirm>
    </>
  )
}
