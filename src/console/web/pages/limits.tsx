/** The rules for all calls of the organisation, its budgets, its sub-wallets and its own keys of vendors. */
import { SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core'
import { act, type Shown, useShown } from '../parts/api.ts'
import { typedUsd } from '../parts/format.ts'
import { Form } from '../parts/forms/form.tsx'
import { labelled } from '../parts/forms/labelled.ts'
import { differing, useEdits } from '../parts/forms/use-edits.ts'
import { amountIn, fieldsOf } from '../parts/forms/use-texts.ts'
import { Budgets } from '../parts/keys/budgets.tsx'
import { GuardrailsField, guardrailsText, typedGuardrails } from '../parts/keys/guardrails.tsx'
import { OwnKeys } from '../parts/keys/own-keys.tsx'
import { SubWallets } from '../parts/keys/sub-wallets.tsx'
import { PageHead, Panel } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'
import { useMay } from '../parts/use-may.ts'

type RulesShown = Shown<'GET /rules'>

const textsOf = (rules: RulesShown) => ({
  call: rules.per_call_max_usd ?? '',
  day: rules.daily_limit_usd ?? '',
  warn: rules.alert_below_usd ?? '',
  url: rules.alert_webhook_url ?? '',
  allowed: rules.allowed_models?.join('\n') ?? '',
  blocked: rules.blocked_models?.join('\n') ?? '',
  guardrails: guardrailsText(rules.guardrails),
  requires: rules.requires?.join('\n') ?? '',
})

type Texts = ReturnType<typeof textsOf>

/** One pattern per line; no pattern means no rule. */
const patternsOf = (text: string): readonly string[] | null => {
  const lines = text.split(/[\n,]/).flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
  return lines.length === 0 ? null : lines
}

/** The body of the change; undefined if an amount cannot be read. */
const bodyOf = (texts: Texts) => {
  const [call, day, warn] = [typedUsd(texts.call), typedUsd(texts.day), typedUsd(texts.warn)]
  const guardrails = typedGuardrails(texts.guardrails)
  if (call === null || day === null || warn === null || guardrails === undefined) return undefined
  return {
    per_call_max_usd: call ?? null,
    daily_limit_usd: day ?? null,
    alert_below_usd: warn ?? null,
    alert_webhook_url: texts.url.trim() === '' ? null : texts.url.trim(),
    allowed_models: patternsOf(texts.allowed),
    blocked_models: patternsOf(texts.blocked),
    guardrails,
    requires: patternsOf(texts.requires),
  }
}

const fields = [
  ['call', 'Maximum per call, in USD', 'A call that may cost more is refused'],
  ['day', 'Maximum per day, in USD', 'All keys together, per UTC day'],
  ['warn', 'Warn below, in USD', 'Sent once when the wallet falls below it'],
] as const
const lists = [
  ['allowed', 'Only these models', 'One per line; * matches any letters. Empty allows all'],
  ['blocked', 'Never these models', 'One a line'],
  ['requires', 'Conditions', 'What calls ask of where they go, one a line: zdr, no_training, region=eu'],
] as const

/** A key can set an empty list, which a field cannot show. */
const aboutOf = (name: keyof Texts, about: string, { allowed_models: allowed }: RulesShown): string =>
  name === 'allowed' && allowed?.length === 0
    ? 'None is allowed now: an empty list was set. * allows all'
    : about

const WARNINGS = 'Where warnings go'

const labels = {
  per_call_max_usd: fields[0][1],
  daily_limit_usd: fields[1][1],
  alert_below_usd: fields[2][1],
  alert_webhook_url: WARNINGS,
  allowed_models: lists[0][1],
  blocked_models: lists[1][1],
  guardrails: 'Guardrails',
  requires: lists[2][1],
}

const RulesForm = ({ rules, mayChange }: { rules: RulesShown; mayChange: boolean }) => {
  const stored = textsOf(rules)
  const { texts, edit, save } = useEdits(stored, (sent) =>
    act('PUT /rules', differing(bodyOf(sent) ?? {}, bodyOf(stored))),
  )
  const body = bodyOf(texts)
  const field = fieldsOf(texts, edit)
  const readOnly = !mayChange
  return (
    <Form
      save={{ ...save, error: labelled(save.error, labels) }}
      verb="Save rules"
      ready={body !== undefined}
      place="page"
      done="Saved. The rules apply on every process."
      hidden={!mayChange}
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {fields.map(([name, label, description]) => (
          <TextInput
            key={name}
            {...field(name, label, description)}
            {...amountIn(texts[name])}
            {...{ readOnly, placeholder: 'none' }}
          />
        ))}
        <TextInput
          {...field(
            'url',
            WARNINGS,
            texts.warn !== '' && texts.url.trim() === ''
              ? 'Nobody is warned without an address. Give one, or make an alert under Alerts'
              : 'An https address on a public server',
          )}
          {...{ readOnly, placeholder: 'https://…' }}
        />
        {lists.map(([name, label, description]) => (
          <Textarea
            key={name}
            {...field(name, label, aboutOf(name, description, rules))}
            {...{ readOnly, autosize: true, minRows: 3, maxRows: 8, className: 'mono-input' }}
          />
        ))}
      </SimpleGrid>
      <GuardrailsField
        value={texts.guardrails}
        readOnly={!mayChange}
        onChange={(guardrails) => edit({ guardrails })}
      />
    </Form>
  )
}

export const Limits = () => {
  const { data, error } = useShown('GET /rules')
  const mayChange = useMay('rules')
  return (
    <>
      <PageHead
        title="Rules"
        about="These rules bind every key of the organisation, whatever its own limits are. An empty field sets no rule."
      />
      <Stack>
        <Panel title="Rules for all calls">
          {data === undefined ? (
            <Unread error={error} rows={4} />
          ) : (
            <RulesForm rules={data} mayChange={mayChange} />
          )}
        </Panel>
        <Budgets mayChange={mayChange} />
        <SubWallets mayChange={mayChange} />
        {mayChange && <OwnKeys />}
      </Stack>
    </>
  )
}
