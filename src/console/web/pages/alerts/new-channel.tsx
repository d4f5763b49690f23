/** The dialog that makes a channel. */
import { NativeSelect, TextInput } from '@mantine/core'
import { type ChannelKind, channelForms, channelKinds } from '../../../../tenancy/alert-kinds.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/forms/form.tsx'
import { useChange } from '../../parts/forms/use-change.ts'
import { useTexts } from '../../parts/forms/use-texts.ts'
import { type Of, toAct } from './whose.ts'

type Props = { readonly of: Of; readonly opened: boolean; readonly onClose: () => void }

const Fields = ({ of, onClose }: Omit<Props, 'opened'>) => {
  const { texts, field } = useTexts({ kind: 'mail', name: '', target: '' })
  const kind = texts.kind as ChannelKind
  const [name, target] = [texts.name.trim(), texts.target.trim()]
  const save = useChange(() => toAct(of, 'POST /alert-channels', { name, kind, target }), { after: onClose })
  return (
    <Form
      save={save}
      verb="Make channel"
      ready={name !== '' && target !== ''}
      hint="Give a name and a target."
    >
      <NativeSelect
        {...field('kind', 'Kind')}
        data={channelKinds.map((one) => ({ value: one, label: channelForms[one].label }))}
      />
      <TextInput {...field('name', 'Name')} />
      <TextInput {...field('target', 'Target', channelForms[kind].target)} />
    </Form>
  )
}

export const NewChannel = ({ opened, ...others }: Props) => (
  <Dialog opened={opened} onClose={others.onClose} title="New channel">
    <Fields {...others} />
  </Dialog>
)
