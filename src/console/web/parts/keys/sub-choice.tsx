/** The choice of the sub-wallet that a key is bound to; not shown where there is none to choose. */
import { NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { showing } from '../api.ts'
import { useMay } from '../use-may.ts'

export const SubChoice = ({ value, onChange }: { value: string; onChange: (id: string) => void }) => {
  const enabled = useMay('sub_wallets_read')
  const { data } = useQuery({ ...showing('GET /sub-wallets'), enabled })
  const found = (data?.data ?? []).map(({ id, label }) => ({ value: id, label: label === '' ? id : label }))
  // A deleted one is not in the list, and a key may still be bound to it.
  const options =
    value === '' || found.some((one) => one.value === value) ? found : [{ value, label: value }, ...found]
  if (options.length === 0) return null
  return (
    <NativeSelect
      label="Sub-wallet"
      description="The ceiling that this key, and all keys below it, spend under"
      data={[{ value: '', label: 'none' }, ...options]}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}
