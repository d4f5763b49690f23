/** Asks before an act that is hard to undo, and names what will be done. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Dialog } from './dialog.tsx'
import { useChange } from './forms/use-change.ts'
import { Failed, RowButton } from './ui.tsx'

type Props = {
  readonly opened: boolean
  readonly title: string
  readonly verb: string
  readonly children: ReactNode
  /** A choice below the text. */
  readonly more?: ReactNode
  /** The change that `onYes` begins. */
  readonly does: { readonly isPending: boolean; readonly error: unknown }
  readonly onYes: () => void
  readonly onClose: () => void
}

export const Confirm = ({ opened, title, verb, children, more, does, onYes, onClose }: Props) => (
  <Dialog opened={opened} onClose={onClose} title={title}>
    <Stack>
      <Text size="sm">{children}</Text>
      {more}
      <Failed error={does.error} />
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <Button color="red.8" loading={does.isPending} onClick={onYes}>
          {verb}
        </Button>
      </Group>
    </Stack>
  </Dialog>
)

/** The button of a change that asks first. */
export const Asked = ({
  verb,
  name = verb,
  title,
  yes,
  send,
  size = 'compact-sm',
  children,
}: {
  verb: string
  /** What it is called among others of its verb. */
  name?: string
  title: string
  yes: string
  send: () => Promise<unknown>
  size?: 'compact-xs' | 'compact-sm' | 'xs'
  children: ReactNode
}) => {
  const [opened, setOpened] = useState(false)
  const does = useChange(send)
  const close = () => setOpened(false)
  return (
    <>
      <RowButton size={size} onClick={() => setOpened(true)} aria-label={name}>
        {verb}
      </RowButton>
      <Confirm
        {...{ opened, title, verb: yes, does, onClose: close }}
        onYes={() => void does.mutateAsync().then(close, () => {})}
      >
        {children}
      </Confirm>
    </>
  )
}
