/** The dialog that makes a channel. */
import { NativeSelect, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { type ChannelKind, channelForms, channelKinds } from '../../../../tenancy/alert-kinds.ts'
import { queries } from '../../parts/api.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { type Of, toAct } from './whose.ts'

type Props = { readonly of: Of; readonly opened: boolean; readonly onClose: () => void }

const Fields = ({ of, onClose }: Omit<Props, 'opened'>) => {
  const [kind, setKind] = useState<ChannelKind>('mail')
  const [name, setName] = useState('')
  const [target, setTarget] = useState('')
  const save = useMutation({
    mutationFn: () => toAct(of, 'POST /alert-channels', { name: name.trim(), kind, target: target.trim() }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      onClose()
    },
  })
  return (
    <Form
      save={save}
      verb="Make channel"
      ready={name.trim() !== '' && target.trim() !== ''}
      hint="Give a name and a target."
    >
      <NativeSelect
        label="Kind"
        data={channelKinds.map((one) => ({ value: one, label: channelForms[one].label }))}
        value={kind}
        onChange={(event) => setKind(event.currentTarget.value as ChannelKind)}
      />
      <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <TextInput
        label="Target"
        description={channelForms[kind].target}
        value={target}
        onChange={(event) => setTarget(event.currentTarget.value)}
      />
    </Form>
  )
}

export const NewChannel = ({ opened, ...others }: Props) => (
  <Dialog opened={opened} onClose={others.onClose} title="New channel">
    <Fields {...others} />
  </Dialog>
)
