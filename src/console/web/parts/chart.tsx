/**
 * Charts in SVG with a legend: bars of days or hours, stacked by a group, and lines. Values are drawn here, never summed.
 */
import { Box, Group, Text } from '@mantine/core'
import { type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from 'react'
import { countText, dayText, shortCount, shortUsd } from './format.ts'

type Bar = { readonly slot: string; readonly group: string; readonly value: string }

/** How values are written: in full, and beside the axis. */
type Unit = { readonly full: (value: string) => string; readonly axis: (value: number) => string }

const usd: Unit = { full: (value) => `${value} USD`, axis: (value) => shortUsd(value.toFixed(9)) }
const whole = (name: string): Unit => ({
  full: (value) => `${countText(Number(value))} ${name}`,
  axis: (value) => shortCount(value),
})
const ms: Unit = {
  ...whole('ms'),
  axis: (value) => (value < 1_000 ? `${value} ms` : `${countText(value / 1_000)} s`),
}
export const units = { usd, calls: whole('calls'), ms }

/** They stand out three to one from the page in both schemes, as WCAG 1.4.11 asks: style.css has them. */
const colours = Array.from({ length: 6 }, (_, at) => `var(--group-${at})`)
const GROUPS_MOST = colours.length - 1
const [HEIGHT, BASE, TOP] = [230, 200, 12]
/** Used until the available width is known. */
const WIDE = 1080
const LEFT = 68
/** The least width of a bar with its gap, and the width of a label, in pixels. */
const [STEP_LEAST, LABEL] = [4, 90]
/** Half of the longest label: the last one ends where the chart does. */
const LABEL_HALF = 28
/** Above this, hours are told by their day. */
const DAYS_MS = 2 * 86_400_000

/** The most expensive groups, by name; the others form one group. */
const groupsOf = (bars: readonly Bar[]): readonly string[] => {
  const sums = new Map<string, number>()
  for (const { group, value } of bars) sums.set(group, (sums.get(group) ?? 0) + Number(value))
  return [...sums].sort(([, a], [, b]) => b - a).map(([name]) => name)
}

/** `value` is the exact one of a segment that is one group's; the others are only drawn. */
type Piece = {
  readonly group: number
  readonly from: number
  readonly to: number
  readonly value: string | undefined
}

const stack = (bars: readonly Bar[], slot: string, groups: readonly string[]): readonly Piece[] => {
  const heights = new Map<number, number>()
  const amounts = new Map<number, string>()
  for (const { slot: at, group, value } of bars) {
    if (at !== slot) continue
    const place = Math.min(groups.indexOf(group), GROUPS_MOST)
    heights.set(place, (heights.get(place) ?? 0) + Math.max(0, Number(value)))
    if (place < GROUPS_MOST || groups.length === colours.length) amounts.set(place, value)
  }
  let from = 0
  return [...heights]
    .sort(([a], [b]) => a - b)
    .map(([group, height]) => {
      const piece = { group, from, to: from + height, value: amounts.get(group) }
      from += height
      return piece
    })
}

/** A round number at or above the highest bar, whose half is one too. */
const roundUp = (value: number): number => {
  if (value <= 0) return 1
  const unit = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 4, 6, 8, 10].map((times) => times * unit).find((limit) => limit >= value) ?? value
}

const nameText = (name: string | undefined): string => (name === '' ? 'recovered calls' : (name ?? ''))

/** A day, an hour of a day, or a month. */
const slotText = (slot: string): string =>
  slot.length === 7 ? slot : slot.length > 10 ? `${dayText(slot)} ${slot.slice(11, 16)}` : dayText(slot)

const Axis = ({ high, width, unit }: { high: number; width: number; unit: Unit }) => (
  <g className="axis">
    {[0, 0.5, 1].map((part) => {
      const y = BASE - part * (BASE - TOP)
      return (
        <g key={part}>
          <line x1={LEFT - 4} x2={width} y1={y} y2={y} />
          <text x={LEFT - 12} y={y + 4} textAnchor="end">
            {unit.axis(high * part)}
          </text>
        </g>
      )
    })}
  </g>
)

/** Where things are drawn: the middle of a slot, the width of one, and the height of a value. */
type Scale = {
  readonly x: (at: number) => number
  readonly step: number
  readonly y: (value: number) => number
}

const Slots = ({ slots, width, x }: Pick<Scale, 'x'> & { slots: readonly string[]; width: number }) => {
  const every = Math.ceil(slots.length / Math.max(2, Math.floor(width / LABEL)))
  const isLong = Date.parse(slots.at(-1) ?? '') - Date.parse(slots[0] ?? '') > DAYS_MS
  return slots.map(
    (slot, at) =>
      at % every === 0 && (
        <text key={slot} x={Math.min(x(at), width - LABEL_HALF)} y={HEIGHT - 10} textAnchor="middle">
          {slot.length > 10 && !isLong ? slot.slice(11, 16) : slotText(slot.slice(0, 10))}
        </text>
      ),
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

type FrameProps = {
  readonly slots: readonly string[]
  readonly high: number
  readonly unit: Unit
  readonly about: string
  /** The names in the legend, in the order of the colours. */
  readonly names: readonly string[]
  readonly children: (scale: Scale) => ReactNode
}

/** The axes and the legend around what is drawn; a screen reader reads `about` in its place. */
const Frame = ({ slots, high, unit, about, names, children }: FrameProps) => {
  const box = useRef<HTMLDivElement>(null)
  const seen = useWidth(box)
  // As wide as the available room. If there are more bars than fit, it starts at the newest, which people come for.
  const width = Math.max(seen === 0 ? WIDE : seen, LEFT + 4 + slots.length * STEP_LEAST)
  const last = slots.at(-1)
  useLayoutEffect(() => {
    if (last !== undefined && width > seen) box.current?.scrollTo({ left: width })
  }, [last, width, seen])
  const step = (width - LEFT - 4) / Math.max(1, slots.length)
  const x = (at: number) => LEFT + at * step + step / 2
  const y = (value: number) => BASE - (value / high) * (BASE - TOP)
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
          <Axis high={high} width={width} unit={unit} />
          {children({ x, step, y })}
          <Slots slots={slots} width={width} x={x} />
        </svg>
      </div>
      <Group gap="md" mt="xs">
        {names.map((name, at) => (
          <Group key={name} gap={6} wrap="nowrap">
            <span className="dot" style={{ background: colours[at] }} aria-hidden="true" />
            <Text size="xs">{nameText(name)}</Text>
          </Group>
        ))}
      </Group>
    </Box>
  )
}

/** Bars for all slots, in order. `groups` are those of the legend in their order; the most expensive first if absent. */
export const StackedBars = ({
  slots,
  bars,
  about,
  legend = true,
  unit = units.usd,
  groups = groupsOf(bars),
}: {
  slots: readonly string[]
  bars: readonly Bar[]
  about: string
  legend?: boolean
  unit?: Unit
  groups?: readonly string[]
}) => {
  const stacks = slots.map((slot) => stack(bars, slot, groups))
  const high = roundUp(Math.max(0, ...stacks.map((pieces) => pieces.at(-1)?.to ?? 0)))
  const named = groups.length > colours.length ? [...groups.slice(0, GROUPS_MOST), 'others'] : groups
  return (
    <Frame {...{ slots, high, unit, about }} names={legend ? named : []}>
      {({ x, step, y }) =>
        slots.flatMap((slot, at) =>
          (stacks[at] ?? []).map(({ group, from, to, value }) => (
            <rect
              key={`${slot} ${group}`}
              x={x(at) - step * 0.36}
              width={Math.max(1, step * 0.72)}
              y={y(to)}
              height={Math.max(0, y(from) - y(to))}
              fill={colours[group]}
            >
              <title>{`${slotText(slot)}, ${nameText(named[group])}${value === undefined ? '' : `: ${unit.full(value)}`}`}</title>
            </rect>
          )),
        )
      }
    </Frame>
  )
}

type Line = { readonly name: string; readonly values: readonly (number | null)[] }

/** The pieces of a line, which has a gap where there is no value. */
const pathOf = ({ values }: Line, { x, y }: Scale): string =>
  values
    .map((value, at) =>
      value === null ? '' : `${(values[at - 1] ?? null) === null ? 'M' : 'L'}${x(at)} ${y(value)}`,
    )
    .join('')

/** Lines over all slots, with a dot for each value. */
export const Lines = ({
  slots,
  lines,
  about,
  unit,
}: {
  slots: readonly string[]
  lines: readonly Line[]
  about: string
  unit: Unit
}) => (
  <Frame
    {...{ slots, unit, about }}
    high={roundUp(Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))))}
    names={lines.map(({ name }) => name)}
  >
    {(scale) =>
      lines.map((line, n) => (
        <g key={line.name} fill={colours[n]}>
          <path d={pathOf(line, scale)} fill="none" stroke={colours[n]} strokeWidth={2} />
          {line.values.map(
            (value, at) =>
              value !== null && (
                <circle key={slots[at]} cx={scale.x(at)} cy={scale.y(value)} r={3}>
                  <title>{`${slotText(slots[at] ?? '')}, ${line.name}: ${unit.full(String(value))}`}</title>
                </circle>
              ),
          )}
        </g>
      ))
    }
  </Frame>
)
