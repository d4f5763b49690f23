/** A table that draws only the rows near the screen when it has many; empty space takes the place of the others. */
import { Table } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'

/** Up to this many rows are all drawn. */
const ALL = 200
const CHUNK = 50

type Span = { readonly from: number; readonly to: number }

/** The rows to draw for the table's place in the window, in whole chunks, so that small moves redraw nothing. */
const spanOf = (top: number, height: number, count: number): Span => {
  const first = Math.max(0, Math.floor(-top / height / CHUNK) - 1) * CHUNK
  const seen = Math.ceil(window.innerHeight / height / CHUNK) + 3
  return { from: Math.min(first, Math.max(0, count - CHUNK)), to: Math.min(count, first + seen * CHUNK) }
}

const useSpan = (count: number) => {
  const body = useRef<HTMLTableSectionElement>(null)
  const [span, setSpan] = useState<Span>({ from: 0, to: Math.min(count, 3 * CHUNK) })
  const [height, setHeight] = useState(33)
  const all = count <= ALL
  useEffect(() => {
    if (all) return
    const look = () => {
      const place = body.current
      if (place === null) return
      const drawn = [...place.querySelectorAll('tr:not(.space)')]
      const tall =
        drawn.reduce((sum, row) => sum + row.getBoundingClientRect().height, 0) / Math.max(1, drawn.length)
      const each = tall > 0 ? tall : 33
      setHeight(each)
      const next = spanOf(place.getBoundingClientRect().top, each, count)
      setSpan((now) => (now.from === next.from && now.to === next.to ? now : next))
    }
    look()
    window.addEventListener('scroll', look, { passive: true })
    window.addEventListener('resize', look)
    return () => {
      window.removeEventListener('scroll', look)
      window.removeEventListener('resize', look)
    }
  }, [all, count])
  return { body, height, span: all ? { from: 0, to: count } : span }
}

const Space = ({ height }: { height: number }) =>
  height <= 0 ? null : (
    <tr className="space">
      <td style={{ height, padding: 0 }} />
    </tr>
  )

export const Windowed = <Row,>({
  label,
  rows,
  head,
  row,
  foot,
  className,
}: {
  label: string
  rows: readonly Row[]
  head: ReactNode
  row: (row: Row, at: number) => ReactNode
  foot?: ReactNode
  className?: string
}) => {
  const { body, height, span } = useSpan(rows.length)
  return (
    <Table
      verticalSpacing={6}
      aria-label={label}
      aria-rowcount={rows.length + 1}
      {...(className === undefined ? {} : { className })}
    >
      <Table.Thead>{head}</Table.Thead>
      <Table.Tbody ref={body}>
        <Space height={span.from * height} />
        {rows.slice(span.from, span.to).map((one, at) => row(one, span.from + at))}
        <Space height={(rows.length - span.to) * height} />
      </Table.Tbody>
      {foot !== undefined && <Table.Tfoot>{foot}</Table.Tfoot>}
    </Table>
  )
}
