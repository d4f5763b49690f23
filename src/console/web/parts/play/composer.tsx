/** Where a message is written, with pictures and files. */
import { Button, Group, Stack, Textarea } from '@mantine/core'
import { type FormEvent, type KeyboardEvent, useState } from 'react'
import { ChooseFiles } from '../forms/choose-files.tsx'
import { Told } from '../ui.tsx'
import type { Attached } from './asked.ts'

const readFile = (file: File): Promise<Attached> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve({ name: file.name, url: String(reader.result) })
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })

type Change = (next: (before: readonly Attached[]) => readonly Attached[]) => void

const Files = ({ files, change }: { files: readonly Attached[]; change: Change }) => {
  const attach = async (chosen: readonly File[]) => {
    const read = await Promise.all(chosen.map(readFile))
    // One of the same name takes the place of the other.
    change((before) => [...before.filter(({ name }) => !read.some((one) => one.name === name)), ...read])
  }
  return (
    <Group gap="xs">
      <ChooseFiles name="Pictures and files" several size="xs" onChosen={(chosen) => void attach(chosen)}>
        Attach
      </ChooseFiles>
      {files.map(({ name }) => (
        <Button
          key={name}
          size="compact-xs"
          variant="default"
          aria-label={`Remove ${name}`}
          onClick={() => change((before) => before.filter((one) => one.name !== name))}
        >
          {name} ×
        </Button>
      ))}
    </Group>
  )
}

export const Composer = ({
  onSend,
  pending,
  onStop,
}: {
  /** Whether it was sent. */
  onSend: (text: string, files: readonly Attached[]) => boolean
  pending: boolean
  onStop: () => void
}) => {
  const [text, setText] = useState('')
  const [files, setFiles] = useState<readonly Attached[]>([])
  const [isHinted, setHinted] = useState(false)
  const empty = text.trim() === '' && files.length === 0
  const send = (event: FormEvent | KeyboardEvent) => {
    event.preventDefault()
    setHinted(empty)
    if (empty || pending || !onSend(text, files)) return
    setText('')
    setFiles([])
  }
  return (
    <form onSubmit={send}>
      <Stack gap="xs">
        <Textarea
          aria-label="Message"
          placeholder="Write a message; Enter sends it, Shift+Enter starts a new line"
          autosize
          minRows={2}
          maxRows={8}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          // The Enter that ends a word of an input method sends nothing.
          onKeyDown={(event) =>
            event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing && send(event)
          }
        />
        {isHinted && empty && <Told alert>Write a message first.</Told>}
        <Group justify="space-between" gap="xs">
          <Files files={files} change={setFiles} />
          {pending ? (
            <Button variant="default" onClick={onStop}>
              Stop
            </Button>
          ) : (
            <Button type="submit">Send</Button>
          )}
        </Group>
      </Stack>
    </form>
  )
}
