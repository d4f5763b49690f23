/** What a reseller bills for a month, and pays and earns by it. */
import { SimpleGrid } from '@mantine/core'
import type { Shown } from '../api.ts'
import { counted } from '../format.ts'
import { Figure, Money } from '../ui.tsx'

type Sums = Pick<Shown<'GET /statement/total'>, 'total' | 'default_margin_percent'>

export const Earned = ({ bill, tenants, of }: { bill: string; tenants: number; of: Sums }) => (
  <SimpleGrid cols={{ base: 1, xs: 3 }}>
    <Figure name={bill} below={`${counted(tenants, 'tenant')} with use`}>
      <Money usd={of.total.billed_usd} />
    </Figure>
    <Figure name="You pay us" below="from your wallet, as it was used">
      <Money usd={of.total.cost_usd} />
    </Figure>
    <Figure name="Your margin" below={`${of.default_margin_percent} % unless a tenant has its own price`}>
      <Money usd={of.total.margin_usd} />
    </Figure>
  </SimpleGrid>
)
