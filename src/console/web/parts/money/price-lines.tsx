/** Prices as people compare them: tokens by the million, everything else by one, or by a handful that has a name. */
import { Text } from '@mantine/core'
import { pricedBy } from '../../../../pricing/unit.ts'
import { priceUsd } from '../format.ts'

export const PriceLines = ({
  prices,
  factor = 1,
  named = true,
}: {
  /** By class, in USD a million units. */
  prices: Readonly<Record<string, string>>
  factor?: number
  named?: boolean
}) => (
  <Text size="xs" className="number" component="div">
    {Object.entries(prices).map(([name, price]) => {
      const [count, words] = pricedBy(name)
      return (
        <div key={name} title={`${price} USD for a million`}>
          {priceUsd(((Number(price) * factor * count) / 1_000_000).toFixed(12))}{' '}
          {named && (
            <Text span inherit c="dimmed">
              {words}
            </Text>
          )}
        </div>
      )
    })}
  </Text>
)
