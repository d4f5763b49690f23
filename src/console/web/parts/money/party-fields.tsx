/** Whom an invoice is from or to: the fields that both sides have, and the form of a tenant's own. */
import { SimpleGrid, Textarea, TextInput } from '@mantine/core'
import { act, type Shown } from '../api.ts'
import { Form } from '../forms/form.tsx'
import { useEdits } from '../forms/use-edits.ts'
import { fieldsOf } from '../forms/use-texts.ts'
import { Panel } from '../ui.tsx'

type PartyTexts = Readonly<Record<'name' | 'address' | 'tax_id' | 'email', string>>

type Stored = { readonly [Name in keyof PartyTexts]?: string | undefined } | null

export const partyTexts = (stored: Stored): PartyTexts => ({
  name: stored?.name ?? '',
  address: stored?.address ?? '',
  tax_id: stored?.tax_id ?? '',
  email: stored?.email ?? '',
})

/** The members of a body; what is empty is left out, and the server asks for what it needs. */
export const filled = (texts: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => text.trim() !== ''))

export const PartyFields = ({
  texts,
  edit,
}: {
  texts: PartyTexts
  edit: (more: Partial<PartyTexts>) => void
}) => {
  const field = fieldsOf(texts, edit)
  return (
    <>
      <TextInput {...field('name', 'Name')} required />
      <Textarea {...field('address', 'Address')} required autosize minRows={3} />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput {...field('tax_id', 'Tax ID')} />
        <TextInput {...field('email', 'E-mail')} type="email" />
      </SimpleGrid>
    </>
  )
}

/** To whom a tenant's invoices are written. */
export const TenantBilling = ({
  tenant,
  billing,
}: {
  tenant: string
  billing: Shown<'GET /tenants/:tenant/billing'>['billing']
}) => {
  const stored = { ...partyTexts(billing), account: String(billing?.debtor_account ?? '') }
  const { texts, edit, save } = useEdits(stored, ({ account, ...party }) =>
    act('PUT /tenants/:tenant/billing', {
      tenant,
      ...filled(party),
      ...(account.trim() === '' ? {} : { debtor_account: Number(account) }),
    }),
  )
  return (
    <Panel title="Invoices are written to">
      <Form save={save} verb="Save" place="page" done="Saved.">
        <PartyFields texts={texts} edit={edit} />
        <TextInput
          {...fieldsOf(texts, edit)('account', 'Account in your books', 'Only for DATEV')}
          inputMode="numeric"
        />
      </Form>
    </Panel>
  )
}
