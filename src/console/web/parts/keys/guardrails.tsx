/** Rules of guardrails as people type them: one JSON object a line, as the reference describes them. */
import { Textarea } from '@mantine/core'

type Rules = readonly Readonly<Record<string, unknown>>[]

export const guardrailsText = (rules: Rules | null | undefined): string =>
  (rules ?? []).map((rule) => JSON.stringify(rule)).join('\n')

/** The rules; undefined if a line is none, null if there are none. */
export const typedGuardrails = (text: string): Rules | null | undefined => {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  try {
    return lines.length === 0 ? null : lines.map((line) => JSON.parse(line))
  } catch {
    return undefined
  }
}

type Props = { value: string; readOnly?: boolean; onChange: (text: string) => void }

export const GuardrailsField = ({ value, readOnly = false, onChange }: Props) => (
  <Textarea
    label="Guardrails"
    description={'One rule a line, such as {"detect": ["secrets", "email"], "action": "mask", "on": "input"}'}
    autosize
    minRows={1}
    maxRows={10}
    className="mono-input"
    error={typedGuardrails(value) === undefined ? 'Each line is a JSON object' : undefined}
    readOnly={readOnly}
    value={value}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
)
