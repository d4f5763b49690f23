/** What goes with every question of the playground: system prompt, parameters, tools. */
import { SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core'
import { type Settings, troubles } from './asked.ts'

const EXAMPLE =
  '[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]'

export const SettingsFields = ({
  settings,
  change,
}: {
  settings: Settings
  change: (more: Partial<Settings>) => void
}) => {
  const wrong = troubles(settings)
  const field = (name: keyof Settings) => ({
    value: settings[name],
    error: wrong[name],
    onChange: (event: { currentTarget: { value: string } }) => change({ [name]: event.currentTarget.value }),
  })
  return (
    <details>
      <summary>System prompt, parameters, tools</summary>
      <Stack gap="sm" mt="sm">
        <Textarea label="System prompt" autosize minRows={2} maxRows={8} {...field('system')} />
        <SimpleGrid cols={{ base: 1, xs: 3 }}>
          <TextInput
            label="Temperature"
            placeholder="the model’s"
            inputMode="decimal"
            {...field('temperature')}
          />
          <TextInput label="Top p" placeholder="the model’s" inputMode="decimal" {...field('top_p')} />
          <TextInput
            label="Most tokens"
            placeholder="the model’s"
            inputMode="numeric"
            {...field('max_tokens')}
          />
        </SimpleGrid>
        <Textarea
          label="Tools"
          description="As a JSON list. When a model calls one, your next message is its result."
          placeholder={EXAMPLE}
          autosize
          minRows={2}
          maxRows={10}
          className="mono-input"
          {...field('tools')}
        />
      </Stack>
    </details>
  )
}
