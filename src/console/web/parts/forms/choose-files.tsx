/** A button that chooses files. It forgets them at once: else the same file could not be chosen again once it is corrected. */
import { Button } from '@mantine/core'
import { type ReactNode, useRef } from 'react'

type Props = {
  readonly name: string
  readonly accept?: string
  readonly several?: boolean
  readonly size?: 'xs'
  readonly onChosen: (files: readonly File[]) => void
  readonly children: ReactNode
}

export const ChooseFiles = ({ name, accept, several = false, onChosen, ...button }: Props) => {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        style={{ display: 'none' }}
        aria-label={name}
        accept={accept}
        multiple={several}
        onChange={({ currentTarget }) => {
          const files = [...(currentTarget.files ?? [])]
          currentTarget.value = ''
          if (files.length > 0) onChosen(files)
        }}
      />
      <Button variant="default" {...button} onClick={() => input.current?.click()} />
    </>
  )
}
