/** A dialog with a title and a close button. Its head is not a page header, as the library's would be. */
import { Group, Modal } from '@mantine/core'
import type { ReactNode } from 'react'

type Props = {
  readonly opened: boolean
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  readonly size?: 'md' | 'lg' | 'xl'
  /** Its content is shown only once, so neither a click outside nor Escape closes it. */
  readonly keep?: boolean
  /** At the right side of the window, in its whole height. */
  readonly side?: boolean
}

export const Dialog = ({
  opened,
  title,
  onClose,
  children,
  size = 'md',
  keep = false,
  side = false,
}: Props) => (
  <Modal.Root
    opened={opened}
    onClose={onClose}
    size={size}
    closeOnClickOutside={!keep}
    closeOnEscape={!keep}
    {...(side ? { classNames: { inner: 'side', content: 'side-content' } } : {})}
  >
    <Modal.Overlay />
    <Modal.Content>
      <Group justify="space-between" p="md" pb={0} wrap="nowrap">
        <Modal.Title fw={650}>{title}</Modal.Title>
        <Modal.CloseButton aria-label="Close" />
      </Group>
      <Modal.Body pt="md">{children}</Modal.Body>
    </Modal.Content>
  </Modal.Root>
)
