/** A reseller's margin on our price: for all tenants, or for one. */
import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { act, type Shown } from '../api.ts'
import { Form } from '../forms/form.tsx'
import { useChange } from '../forms/use-change.ts'
import { monthText, recentMonths } from '../months.ts'
import { Aside, Failed } from '../ui.tsx'

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
  const put = (margin: number | null): Promise<unknown> =>
    tenant === undefined
      ? act('PUT /tenants/price', { margin_percent: margin })
      : act('PUT /tenants/:tenant/price', { tenant: tenant.id, margin_percent: margin })
  const save = useChange(() => put(percent ?? null), { after: onDone })
  const end = useChange(() => put(null), { after: onDone })
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
      <Aside>
        {tenant?.own_margin === false ? 'At present it is the one for all tenants. ' : ''}Your wallet pays our
        price. Tenants see yours on their statement and page, and in answers to their calls if you choose so
        under Prices.
      </Aside>
      <Failed error={end.error} />
    </Form>
  )
}
