/** All that a person may say of a key, made or changed: its limits, its sub-wallet, its own names for models, its rights. */
import { Checkbox, Textarea, TextInput } from '@mantine/core'
import { nameIn } from '../forms/use-texts.ts'
import { GuardrailsField, guardrailsText, typedGuardrails } from './guardrails.tsx'
import { LimitsForm, limitsOf, textsOf as limitTextsOf, noLimits } from './limits-form.tsx'
import { SubChoice } from './sub-choice.tsx'

/** What is typed: the limits by their members, and the others. */
type KeyTexts = Readonly<Record<string, string>>

export const noTexts: KeyTexts = { ...noLimits, label: '', sub: '', aliases: '', guardrails: '', manages: '' }

type Stored = {
  readonly label: string
  readonly sub_wallet: string | null
  readonly aliases: Readonly<Record<string, string>> | null
  readonly guardrails: readonly Readonly<Record<string, unknown>>[] | null
  readonly can_manage: boolean
}

/** The texts of a key that there is. */
export const textsOf = (row: Stored & Readonly<Record<string, unknown>>): KeyTexts => ({
  ...limitTextsOf(row),
  label: row.label,
  sub: row.sub_wallet ?? '',
  aliases: Object.entries(row.aliases ?? {})
    .map(([name, model]) => `${name} = ${model}`)
    .join('\n'),
  guardrails: guardrailsText(row.guardrails),
  manages: row.can_manage ? 'yes' : '',
})

/** One alias a line; undefined if a line is none. */
const aliasesOf = (text: string): Readonly<Record<string, string>> | null | undefined => {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const read = lines.map((line) => /^(.*\S)\s*=\s*([^\s=]+)$/.exec(line.trim()))
  if (read.includes(null)) return undefined
  return lines.length === 0 ? null : Object.fromEntries(read.map((one) => [one?.[1] ?? '', one?.[2] ?? '']))
}

/** The members of the body; undefined if a field cannot be read. */
export const bodyOf = (texts: KeyTexts) => {
  const [limits, aliases] = [limitsOf(texts), aliasesOf(texts.aliases ?? '')]
  const guardrails = typedGuardrails(texts.guardrails ?? '')
  const unread = limits === undefined || aliases === undefined || guardrails === undefined
  if (unread || texts.label?.trim() === '') return undefined
  return {
    ...limits,
    label: texts.label,
    sub_wallet: texts.sub === '' ? null : texts.sub,
    aliases,
    guardrails,
    can_manage: texts.manages === 'yes',
  }
}

export const KeyFields = ({
  texts,
  edit,
  mayManage,
}: {
  texts: KeyTexts
  edit: (more: KeyTexts) => void
  /** Who is limited to their own keys cannot make one that governs others. */
  mayManage: boolean
}) => (
  <>
    <TextInput
      label="Label"
      description="Who or what uses the key"
      placeholder="support agent"
      required
      maxLength={200}
      data-autofocus
      {...nameIn(texts.label ?? '')}
      value={texts.label ?? ''}
      onChange={(event) => edit({ label: event.currentTarget.value })}
    />
    <LimitsForm value={texts} onChange={edit} />
    <SubChoice value={texts.sub ?? ''} onChange={(sub) => edit({ sub })} />
    <Textarea
      label="Own names for models"
      description="One a line, such as fast = openai/gpt-5-mini; keys below it do not use them"
      autosize
      minRows={1}
      maxRows={6}
      className="mono-input"
      error={aliasesOf(texts.aliases ?? '') === undefined ? 'Each line is a name, =, and a model' : undefined}
      value={texts.aliases ?? ''}
      onChange={(event) => edit({ aliases: event.currentTarget.value })}
    />
    <GuardrailsField value={texts.guardrails ?? ''} onChange={(guardrails) => edit({ guardrails })} />
    {mayManage && (
      <Checkbox
        label="May manage"
        description="It makes and governs keys below itself; a key of the organisation also manages the wallet"
        checked={texts.manages === 'yes'}
        onChange={(event) => edit({ manages: event.currentTarget.checked ? 'yes' : '' })}
      />
    )}
  </>
)
