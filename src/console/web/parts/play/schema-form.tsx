/** A form built from the input schema of a model: a field for each input, by its type, bounds and choices. */
import { Button, Group, NativeSelect, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Failed } from '../ui.tsx'
import { type InputSchema, type Property, propertiesOf, type Values } from './schema-values.ts'

type FieldProps = {
  readonly name: string
  readonly of: Property
  readonly required: boolean
  readonly value: string
  readonly onChange: (value: string) => void
  readonly upload: (file: File) => Promise<string>
}

const aboutOf = ({ description, minimum, maximum, form }: Property): string =>
  [
    description,
    minimum !== undefined || maximum !== undefined
      ? `from ${minimum ?? 'any'} to ${maximum ?? 'any'}`
      : undefined,
    form === 'list' ? 'one a line' : form === 'json' ? 'as JSON' : undefined,
  ]
    .filter((part) => part !== undefined)
    .join('; ')

/** An address, or a file that is uploaded to the server and named by its id. */
const FileField = ({ name, of, required, value, onChange, upload }: FieldProps) => {
  const send = useMutation({ mutationFn: upload, onSuccess: onChange })
  return (
    <Stack gap={6}>
      <TextInput
        label={name}
        description={`${aboutOf(of)}${of.description === undefined ? 'An' : '; an'} https address, or a file of yours`}
        withAsterisk={required}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <input
        type="file"
        aria-label={`File for ${name}`}
        accept={of.types.map((type) => (type.endsWith('/') ? `${type}*` : type)).join(',')}
        onChange={({ currentTarget: input }) => {
          const [file] = input.files ?? []
          // Forgotten once it has failed: else the same file could not be chosen again.
          const onError = () => Object.assign(input, { value: '' })
          if (file !== undefined) send.mutate(file, { onError })
        }}
      />
      {send.isPending && <Text size="xs">Sending…</Text>}
      <Failed error={send.error} />
    </Stack>
  )
}

const Field = (props: FieldProps) => {
  const { name, of, required, value, onChange } = props
  const common = { label: name, description: aboutOf(of), withAsterisk: required }
  switch (of.form) {
    case 'choice':
      return (
        <NativeSelect
          {...common}
          data={[{ value: '', label: of.usual === undefined ? '' : `${of.usual} (usual)` }, ...of.choices]}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
    case 'truth':
      return (
        <Switch
          label={name}
          description={aboutOf(of)}
          checked={(value === '' ? of.usual : value) === 'true'}
          onChange={(event) => onChange(String(event.currentTarget.checked))}
        />
      )
    case 'file':
      return <FileField {...props} />
    case 'line':
    case 'number':
      return (
        <TextInput
          {...common}
          inputMode={of.form === 'number' ? 'decimal' : 'text'}
          placeholder={of.usual ?? ''}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
    default:
      return (
        <Textarea
          {...common}
          autosize
          minRows={of.form === 'text' ? 3 : 2}
          maxRows={10}
          placeholder={of.usual ?? ''}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
  }
}

export const SchemaForm = ({
  schema,
  values,
  onChange,
  upload,
}: {
  schema: InputSchema
  values: Values
  onChange: (values: Values) => void
  upload: FieldProps['upload']
}) => {
  const [all, setAll] = useState(false)
  const fields = propertiesOf(schema)
  // Required inputs are always shown; the rest is folded, unless there are few.
  const first = fields.filter(({ required }) => required)
  const few = fields.length <= 6
  const shown = few || all ? fields : first.length === 0 ? fields.slice(0, 4) : first
  return (
    <Stack>
      {shown.map(({ name, of, required }) => (
        <Field
          key={name}
          name={name}
          of={of}
          required={required}
          value={values[name] ?? ''}
          onChange={(value) => onChange({ ...values, [name]: value })}
          upload={upload}
        />
      ))}
      {!few && (
        <Group>
          <Button size="xs" variant="default" onClick={() => setAll(!all)} aria-expanded={all}>
            {all ? 'Fewer inputs' : `${fields.length - shown.length} more inputs`}
          </Button>
        </Group>
      )}
    </Stack>
  )
}
