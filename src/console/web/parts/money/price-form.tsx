/** A reseller's margin on our price: for all tenants, or for one. */
import { Button, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { act, queries, type Shown } from '../api.ts'
import { Form } from '../form.tsx'
import { monthText, recentMonths } from '../months.ts'
import { Failed } from '../ui.tsx'

const percentOf = (text: string): number | undefined =>
  /^\d{1,4}(\.\d{1,2})?$/.test(text.trim()) && Number(text) <= 1_000 ? Number(text) : undefined

/** For one tenant if given, else for all that have no price of their own. */
export const PriceForm = ({
  tenant,
  present = '',
  onDone,
}: {
  tenant?: Shown<'GET /tenants/:tenant'>
  present?: string
  onDone?: () => void
}) => {
  const [text, setText] = useState(tenant === undefined ? present : String(tenant.margin_percent))
  const percent = percentOf(text)
  const done = async () => {
    await queries.invalidateQueries()
    onDone?.()
  }
  const put = (margin: number | null): Promise<unknown> =>
    tenant === undefined
      ? act('PUT /tenants/price', { margin_percent: margin })
      : act('PUT /tenants/:tenant/price', { tenant: tenant.id, margin_percent: margin })
  const save = useMutation({ mutationFn: () => put(percent ?? null), onSuccess: done })
  const end = useMutation({ mutationFn: () => put(null), onSuccess: done })
  return (
    <Form
      save={save}
      verb="Save price"
      ready={percent !== undefined}
      place="page"
      done="Saved."
      more={
        tenant?.own_margin === true && (
          <Button variant="default" loading={end.isPending} onClick={() => end.mutate()}>
            As for all tenants
          </Button>
        )
      }
    >
      <TextInput
        label="Margin above our price, in percent"
        description={`Counts from ${monthText(recentMonths()[0] ?? '')} on, or from the next month if tenants were already told a price of this one; statements before it stay as they are.`}
        inputMode="decimal"
        maw={300}
        value={text}
        error={percent === undefined ? 'A percentage such as 20 or 7.5' : undefined}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Text size="xs" c="dimmed">
        {tenant?.own_margin === false ? 'At present it is the one for all tenants. ' : ''}Your wallet pays our
        price. Tenants see yours on their statement and page, and in answers to their calls if you choose so
        under Prices.
      </Text>
      <Failed error={end.error} />
    </Form>
  )
}
