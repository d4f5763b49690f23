/** How much of a cap is used; apart from other small parts, because the first page has none. */
import { Box, Progress, Text } from '@mantine/core'
import { shareOf, shortUsd } from '../format.ts'
import { Aside, Money } from '../ui.tsx'

export const CapBar = ({ used, cap, label }: { used: string; cap: string | null; label: string }) => {
  if (cap === null)
    return (
      <Box miw={110}>
        <Money usd={used} />
        <Aside>no cap</Aside>
      </Box>
    )
  const share = shareOf(used, cap)
  return (
    <Box miw={130}>
      <Text size="sm" className="number">
        {shortUsd(used)}{' '}
        <Text span c="dimmed" inherit>
          of {shortUsd(cap)}
        </Text>
      </Text>
      <Progress
        value={share * 100}
        color={share >= 1 ? 'red.8' : share >= 0.9 ? 'orange.8' : 'pine.6'}
        size={5}
        mt={4}
        aria-label={`${label}: ${Math.round(share * 100)} % used`}
      />
    </Box>
  )
}
