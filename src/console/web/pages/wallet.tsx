/** The wallet: its balance, how to add to it, what is owed, every movement, and receipts. */
import { Alert, SimpleGrid, Stack } from '@mantine/core'
import { type Shown, useShown } from '../parts/api.ts'
import { Credit } from '../parts/money/invoices.tsx'
import { Movements } from '../parts/money/movements.tsx'
import { ReceiptCheck } from '../parts/money/receipt-check.tsx'
import { AutoTopUp, Returned, TopUp } from '../parts/money/top-up.tsx'
import { Copy, Figure, Money, Note, PageHead, Panel } from '../parts/ui.tsx'
import { Unread } from '../parts/unread.tsx'
import { useMay } from '../parts/use-may.ts'

type WalletShown = Shown<'GET /wallet'>

const NoCards = ({ data }: { data: WalletShown }) => (
  <Note>
    This server takes no cards; its operator funds wallets
    {data.x402 ? ', and calls may be paid one by one with x402' : ''}.
  </Note>
)

const Pay = ({ data }: { data: WalletShown }) => {
  const mayPay = useMay('wallet')
  if (!data.card) return <NoCards data={data} />
  return (
    <SimpleGrid cols={{ base: 1, md: mayPay ? 2 : 1 }}>
      {mayPay && <TopUp data={data} />}
      <AutoTopUp data={data} mayPay={mayPay} />
    </SimpleGrid>
  )
}

export const Wallet = () => {
  const { data, error } = useShown('GET /wallet', {}, 5_000)
  const mayPay = useMay('wallet')
  if (data === undefined) return <Unread error={error} />
  return (
    <>
      <PageHead
        title="Wallet"
        about={
          <>
            Pays for all keys of the organisation. Its id: <Copy text={data.id} name="id of the wallet" />
          </>
        }
      />
      <Stack>
        {data.suspended !== null && (
          <Alert color="red" variant="outline" className="failed">
            The operator has suspended the account: {data.suspended}. Calls of its keys are refused.
          </Alert>
        )}
        <Returned />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <Figure name="Balance" below={`exactly ${data.balance_usd} USD`}>
            <Money usd={data.balance_usd} />
          </Figure>
          <Figure name="Held by open calls" below="comes back, or is charged when they end">
            <Money usd={data.held_usd} />
          </Figure>
        </SimpleGrid>
        <Pay data={data} />
        <Credit data={data} mayPay={mayPay} />
        <Panel title="Movements">
          <Movements />
        </Panel>
        <ReceiptCheck />
      </Stack>
    </>
  )
}
