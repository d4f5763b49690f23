/** A table of rows from the description of its columns. */
import { Table } from '@mantine/core'
import type { ReactNode } from 'react'
import { TableBox } from './table-box.tsx'
import { Windowed } from './windowed.tsx'

export type Column<Row> = {
  /** What it is called; a column of buttons has no name to see. */
  readonly head: string
  readonly cell: (row: Row) => ReactNode
  /** Explains the name. */
  readonly title?: string
  /** Figures stand at the right, in digits of one width. */
  readonly figure?: true
  readonly className?: string
  readonly foot?: ReactNode
  /** On which screens it is; on all where it does not say. `narrow` tells together what others tell one by one. */
  readonly on?: 'wide' | 'narrow'
}

const visible = <Row,>({ on }: Column<Row>) =>
  on === undefined ? {} : on === 'wide' ? { visibleFrom: 'sm' } : { hiddenFrom: 'sm' }

const classOf = <Row,>({ figure, className = '' }: Column<Row>): string =>
  figure === true ? `right number ${className}` : className

const Heads = <Row,>({
  columns,
  children,
}: {
  columns: readonly Column<Row>[]
  children: (column: Column<Row>) => ReactNode
}) => (
  <Table.Tr>
    {columns.map((column) => (
      <Table.Th
        key={column.head}
        className={column.figure ? 'right number' : ''}
        title={column.title}
        {...visible(column)}
      >
        {children(column)}
      </Table.Th>
    ))}
  </Table.Tr>
)

export const DataTable = <Row,>({
  label,
  rows,
  columns: given,
  keyOf,
  wide = false,
  className,
  rowClass,
}: {
  label: string
  rows: readonly Row[]
  /** Those that are there: a column may be left out for who does not see it. */
  columns: readonly (Column<Row> | false)[]
  keyOf: (row: Row) => string
  wide?: boolean
  className?: string
  rowClass?: (row: Row) => string | undefined
}) => {
  const columns = given.filter((column) => column !== false)
  const hasFoot = columns.some(({ foot }) => foot !== undefined)
  return (
    <TableBox wide={wide} folds={columns.some(({ on }) => on === 'narrow')}>
      <Windowed
        label={label}
        rows={rows}
        {...(className === undefined ? {} : { className })}
        head={
          <Heads columns={columns}>
            {({ head }) => (head === '' ? <span className="hide">Actions</span> : head)}
          </Heads>
        }
        row={(row) => (
          <Table.Tr key={keyOf(row)} className={rowClass?.(row)}>
            {columns.map((column) => (
              <Table.Td key={column.head} className={classOf(column)} {...visible(column)}>
                {column.cell(row)}
              </Table.Td>
            ))}
          </Table.Tr>
        )}
        {...(hasFoot ? { foot: <Heads columns={columns}>{({ foot }) => foot}</Heads> } : {})}
      />
    </TableBox>
  )
}
