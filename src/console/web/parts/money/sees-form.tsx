/** What a reseller's tenants are told of money in answers to their calls and in their reports. */
import { NativeSelect, Stack } from '@mantine/core'
import { act, type Shown, useShown } from '../api.ts'
import { useChange } from '../forms/use-change.ts'
import { Failed, Told } from '../ui.tsx'
import { Unread } from '../unread.tsx'

type See = Shown<'GET /rules'>['tenants_see']

const choices: readonly { readonly value: See; readonly label: string }[] = [
  { value: 'cost', label: 'What I pay' },
  { value: 'price', label: 'My price' },
  { value: 'nothing', label: 'Nothing of money' },
]

export const SeesForm = () => {
  const { data, error } = useShown('GET /rules')
  const save = useChange((see: See) => act('PUT /rules', { tenants_see: see }))
  if (data === undefined) return <Unread error={error} rows={1} />
  return (
    <Stack gap="xs">
      <NativeSelect
        label="Tenants see in answers and reports"
        description="Costs, receipts, limits, prices of models and refusals, at once on every process."
        maw={300}
        data={[...choices]}
        value={save.isPending ? save.variables : data.tenants_see}
        disabled={save.isPending}
        onChange={({ currentTarget: { value } }) => {
          const chosen = choices.find((one) => one.value === value)
          if (chosen !== undefined) save.mutate(chosen.value)
        }}
      />
      <Failed error={save.error} />
      {save.isSuccess && <Told>Saved. Tenants are told so from now on.</Told>}
    </Stack>
  )
}
