/** A new key: its form, and then its value, shown once, with ready programs. */
import { Alert, Button, Group, Stack } from '@mantine/core'
import { useState } from 'react'
import { act, type Shown, useShown } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { Form } from '../forms/form.tsx'
import { useChange } from '../forms/use-change.ts'
import { CodeTabs } from '../play/code-tabs.tsx'
import { Aside, Code } from '../ui.tsx'
import { useMay } from '../use-may.ts'
import { bodyOf, KeyFields, noTexts } from './key-fields.tsx'
import { snippetsFor } from './snippets.ts'

export type NewKeyShown = Shown<'POST /keys'>

/** A chat model that is sold here, for the snippets. */
const useModel = (): string => {
  const { data } = useShown('GET /models')
  const chat = data?.data.filter(({ category }) => category === 'chat') ?? []
  return (chat.find(({ id }) => id === 'local/echo-1') ?? chat[0])?.id ?? 'local/echo-1'
}

/** The value of a key that was just made. It is stored nowhere, and the person is told so. */
export const ShownOnce = ({ made, onClose }: { made: NewKeyShown; onClose: () => void }) => {
  const model = useModel()
  const snippets = snippetsFor(location.origin, made.key, model)
  return (
    <Stack>
      <Alert color="yellow" variant="outline" title="Copy the key now" className="failed">
        It is shown only this once: nobody, not even we, can read it again.
      </Alert>
      <Code text={made.key} name={`key ${made.label}`} />
      <CodeTabs programs={snippets} />
      <Group justify="flex-end">
        <Button onClick={onClose}>I have copied it</Button>
      </Group>
    </Stack>
  )
}

type FormProps = {
  readonly texts: typeof noTexts
  readonly setTexts: (texts: typeof noTexts) => void
  readonly onMade: (made: NewKeyShown) => void
}

const KeyForm = ({ texts, setTexts, onMade }: FormProps) => {
  const body = bodyOf(texts)
  const create = useChange(() => act('POST /keys', { ...body, sub_wallet: body?.sub_wallet ?? undefined }), {
    told: onMade,
  })
  return (
    <Form save={create} verb="Create key" ready={body !== undefined}>
      <KeyFields texts={texts} edit={(more) => setTexts({ ...texts, ...more })} mayManage={useMay('keys')} />
      <Aside>Caps hold to the nano-dollar, on every process. All of this can be changed later.</Aside>
    </Form>
  )
}

export const NewKey = ({ opened, onClose }: { opened: boolean; onClose: () => void }) => {
  const [made, setMade] = useState<NewKeyShown>()
  // Stays while the page does: Escape, or a click beside it, must not lose a long form.
  const [texts, setTexts] = useState(noTexts)
  const close = () => {
    setMade(undefined)
    onClose()
  }
  const done = (key: NewKeyShown) => {
    setMade(key)
    setTexts(noTexts)
  }
  return (
    <Dialog
      // Also if it was closed while the key was being made: its value comes only once.
      opened={opened || made !== undefined}
      onClose={close}
      size="lg"
      title={made === undefined ? 'New key' : `Key for ${made.label}`}
      keep={made !== undefined}
    >
      {made === undefined ? (
        <KeyForm {...{ texts, setTexts }} onMade={done} />
      ) : (
        <ShownOnce made={made} onClose={close} />
      )}
    </Dialog>
  )
}
