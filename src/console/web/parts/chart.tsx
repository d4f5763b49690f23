/**
 * A chart of stacked bars in SVG: days or hours, stacked by a group, with a legend. Amounts are drawn here, never
 * summed.
 */
import { Box, Group, Text } from '@mantine/core'
import { type RefObject, useLayoutEffect, useRef, useState } from 'react'
import { dayText, shortUsd } from './format.ts'

type Bar = { readonly slot: string; readonly group: string; readonly usd: string }

const colours = ['#0b7568', '#5b6ee1', '#c2571a', '#a23b87', '#5a8f29', '#7a828c']
const GROUPS_MOST = colours.length - 1
const [HEIGHT, BASE, TOP] = [230, 200, 12]
/** Used until the available width is known. */
const WIDE = 1080
const LEFT = 68
/** The least width of a bar with its gap, and the width of a label, in pixels. */
const [STEP_LEAST, LABEL] = [4, 90]

/** The most expensive groups, by name; the others form one group. */
const groupsOf = (bars: readonly Bar[]): readonly string[] => {
  const sums = new Map<string, number>()
  for (const { group, usd } of bars) sums.set(group, (sums.get(group) ?? 0) + Number(usd))
  return [...sums].sort(([, a], [, b]) => b - a).map(([name]) => name)
}

/** `usd` is the exact amount of a segment that is one group's; the others are only drawn. */
type Piece = {
  readonly group: number
  readonly from: number
  readonly to: number
  readonly usd: string | undefined
}

const stack = (bars: readonly Bar[], slot: string, groups: readonly string[]): readonly Piece[] => {
  const heights = new Map<number, number>()
  const amounts = new Map<number, string>()
  for (const { slot: at, group, usd } of bars) {
    if (at !== slot) continue
    const place = Math.min(groups.indexOf(group), GROUPS_MOST)
    heights.set(place, (heights.get(place) ?? 0) + Math.max(0, Number(usd)))
    if (place < GROUPS_MOST || groups.length === colours.length) amounts.set(place, usd)
  }
  let from = 0
  return [...heights]
    .sort(([a], [b]) => a - b)
    .map(([group, height]) => {
      const piece = { group, from, to: from + height, usd: amounts.get(group) }
      from += height
      return piece
    })
}

/** A round number at or above the highest bar. */
const roundUp = (value: number): number => {
  if (value <= 0) return 1
  const unit = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 2.5, 5, 10].map((times) => times * unit).find((limit) => limit >= value) ?? value
}

const nameText = (name: string | undefined): string => (name === '' ? 'recovered calls' : (name ?? ''))

/** A day, an hour of a day, or a month. */
const slotText = (slot: string): string =>
  slot.length === 7 ? slot : slot.length > 10 ? `${dayText(slot)} ${slot.slice(11, 16)}` : dayText(slot)

const axisText = (value: number): string => shortUsd(value.toFixed(9))

const Axis = ({ high, width }: { high: number; width: number }) => (
  <g className="axis">
    {[0, 0.5, 1].map((part) => {
      const y = BASE - part * (BASE - TOP)
      return (
        <g key={part}>
          <line x1={LEFT - 4} x2={width} y1={y} y2={y} />
          <text x={LEFT - 12} y={y + 4} textAnchor="end">
            {axisText(high * part)}
          </text>
        </g>
      )
    })}
  </g>
)

const Columns = ({
  slots,
  names,
  stacks,
  high,
  width,
}: {
  slots: readonly string[]
  names: readonly string[]
  stacks: readonly (readonly Piece[])[]
  high: number
  width: number
}) => {
  const step = (width - LEFT - 4) / Math.max(1, slots.length)
  const y = (value: number) => BASE - (value / high) * (BASE - TOP)
  const every = Math.ceil(slots.length / Math.max(2, Math.floor(width / LABEL)))
  return (
    <>
      {slots.map((slot, at) => (
        <g key={slot}>
          {(stacks[at] ?? []).map(({ group, from, to, usd }) => (
            <rect
              key={group}
              x={LEFT + at * step + step * 0.14}
              width={Math.max(1, step * 0.72)}
              y={y(to)}
              height={Math.max(0, y(from) - y(to))}
              fill={colours[group]}
            >
              <title>{`${slotText(slot)}, ${nameText(names[group])}${usd === undefined ? '' : `: ${usd} USD`}`}</title>
            </rect>
          ))}
          {at % every === 0 && (
            <text x={LEFT + at * step + step / 2} y={HEIGHT - 10} textAnchor="middle">
              {slot.length > 10 ? slot.slice(11, 16) : slotText(slot)}
            </text>
          )}
        </g>
      ))}
    </>
  )
}

/** The width of an element, kept up to date; 0 before it exists. */
const useWidth = (box: RefObject<HTMLElement | null>): number => {
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const place = box.current
    if (place === null) return
    const look = () => setWidth(place.clientWidth)
    look()
    const observer = new ResizeObserver(look)
    observer.observe(place)
    return () => observer.disconnect()
  }, [box])
  return width
}

/** Bars for all slots, in order; a screen reader reads `about` in their place. */
export const StackedBars = ({
  slots,
  bars,
  about,
  legend = true,
}: {
  slots: readonly string[]
  bars: readonly Bar[]
  about: string
  legend?: boolean
}) => {
  const groups = groupsOf(bars)
  const stacks = slots.map((slot) => stack(bars, slot, groups))
  const high = roundUp(Math.max(0, ...stacks.map((pieces) => pieces.at(-1)?.to ?? 0)))
  const named = groups.length > colours.length ? [...groups.slice(0, GROUPS_MOST), 'others'] : groups
  const box = useRef<HTMLDivElement>(null)
  const seen = useWidth(box)
  // As wide as the available room. If there are more bars than fit, it starts at the newest, which people come for.
  const width = Math.max(seen === 0 ? WIDE : seen, LEFT + 4 + slots.length * STEP_LEAST)
  const last = slots.at(-1)
  useLayoutEffect(() => {
    if (last !== undefined && width > seen) box.current?.scrollTo({ left: width })
  }, [last, width, seen])
  return (
    <Box>
      <div ref={box} className="chart-box" tabIndex={0} role="group" aria-label="Chart">
        <svg
          className="chart"
          width={width}
          height={HEIGHT}
          viewBox={`0 0 ${width} ${HEIGHT}`}
          role="img"
          aria-label={about}
        >
          <Axis high={high} width={width} />
          <Columns slots={slots} names={named} stacks={stacks} high={high} width={width} />
        </svg>
      </div>
      <Group gap="md" mt="xs">
        {(legend ? named : []).map((name, at) => (
          <Group key={name} gap={6} wrap="nowrap">
            <span className="dot" style={{ background: colours[at] }} aria-hidden="true" />
            <Text size="xs">{nameText(name)}</Text>
          </Group>
        ))}
      </Group>
    </Box>
  )
}
