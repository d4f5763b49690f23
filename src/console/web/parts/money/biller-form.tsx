/** Who bills the tenants: what the organisation says of itself on invoices, and how it counts. */
import { Alert, Group, Image, SimpleGrid, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { act, type Shown } from '../api.ts'
import { logoAddress } from '../csv.ts'
import { ChooseFiles } from '../forms/choose-files.tsx'
import { Form } from '../forms/form.tsx'
import { labelled } from '../forms/labelled.ts'
import { useEdits } from '../forms/use-edits.ts'
import { fieldsOf } from '../forms/use-texts.ts'
import { Aside, SmallButton } from '../ui.tsx'
import { filled, PartyFields, partyTexts } from './party-fields.tsx'

type Profile = Shown<'GET /biller'>['profile']

const base64Of = async (file: File): Promise<string> => {
  const bytes = new Uint8Array(await file.arrayBuffer())
  return btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ''))
}

/** `VAT 19` on each line. A space is before the percent, else `VAT 8,1` would be one percent of a tax named `VAT 8,`. */
const taxesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = line, percent = ''] = /^(.*\S)\s+(\d+(?:\.\d+)?)\s*%?$/.exec(line.trim()) ?? []
      return { name, percent: percent === '' ? null : Number(percent) }
    })

const datevNames = ['consultant', 'client', 'revenue_account', 'debtor_account'] as const

const stored = (profile: Profile) => ({
  ...partyTexts(profile),
  currency: profile?.currency ?? 'EUR',
  usd_rate: profile?.usd_rate ?? '',
  terms_days: String(profile?.terms_days ?? 14),
  taxes: (profile?.taxes ?? []).map(({ name, percent }) => `${name} ${percent}`).join('\n'),
  prefix: profile?.prefix ?? '',
  datev: datevNames
    .map((name) => profile?.datev?.[name] ?? '')
    .join(' ')
    .trim(),
})

const bodyOf = (
  { taxes, terms_days: days, datev, prefix, ...texts }: ReturnType<typeof stored>,
  logo: string | null | undefined,
) => {
  const numbers = datev.split(/[\s,]+/).filter((one) => one !== '')
  return {
    ...filled(texts),
    prefix,
    terms_days: Number(days),
    taxes: taxesOf(taxes),
    ...(logo === undefined ? {} : { logo }),
    ...(numbers.length === 0
      ? {}
      : { datev: Object.fromEntries(datevNames.map((name, at) => [name, Number(numbers[at])])) }),
  }
}

const Logo = ({ logo, onChange }: { logo: string | null; onChange: (logo: string | null) => void }) => (
  <Group>
    {logo !== null && (
      <Image src={logoAddress(logo)} alt="Your logo" h={40} w="auto" maw={160} fit="contain" />
    )}
    <ChooseFiles
      name="File of the logo"
      accept="image/png,image/jpeg"
      size="xs"
      onChosen={([file]) => void (file && base64Of(file).then(onChange))}
    >
      {logo === null ? 'Add a logo' : 'Other logo'}
    </ChooseFiles>
    {logo !== null && <SmallButton onClick={() => onChange(null)}>No logo</SmallButton>}
    <Aside>PNG or JPEG, 48 KB</Aside>
  </Group>
)

/** Of members that are called otherwise. */
const labels = {
  usd_rate: 'What one USD costs in it',
  terms_days: 'Days to pay',
  prefix: 'Numbers begin with',
}

export const BillerForm = ({ profile, onDone }: { profile: Profile; onDone: () => void }) => {
  const [logo, setLogo] = useState<string | null>()
  const { texts, edit, save } = useEdits(stored(profile), async (all) => {
    await act('PUT /biller', bodyOf(all, logo))
    onDone()
  })
  const field = fieldsOf(texts, edit)
  return (
    <Form save={{ ...save, error: labelled(save.error, labels) }} verb="Save">
      <Alert variant="outline" color="gray">
        Invoices that are closed already stay as they are.
      </Alert>
      <PartyFields texts={texts} edit={edit} />
      <Logo logo={logo === undefined ? (profile?.logo ?? null) : logo} onChange={setLogo} />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput {...field('currency', 'Currency', 'Such as EUR')} required maxLength={3} />
        <TextInput {...field('usd_rate', labels.usd_rate, 'Such as 0.92; 1 for USD')} required />
        <TextInput
          {...field('terms_days', labels.terms_days, 'From the date of the invoice')}
          required
          inputMode="numeric"
        />
        <TextInput {...field('prefix', labels.prefix, 'Such as R-; it must not end with a digit')} />
      </SimpleGrid>
      <Textarea
        {...field('taxes', 'Taxes', 'One a line: name and percent, such as VAT 19')}
        autosize
        minRows={2}
      />
      <TextInput
        {...field(
          'datev',
          'For DATEV',
          'Consultant, client, account of revenue, account of debtors; may be empty',
        )}
      />
    </Form>
  )
}
