/** A panel that lists what is made, changed and taken away in it. */
import type { ReactNode } from 'react'
import { Empty, Failed, Loading, Panel, SmallButton } from './ui.tsx'

type Listed = { readonly data: readonly unknown[] }

export const ListPanel = <List extends Listed>({
  title,
  make,
  onMake,
  list: { data, error },
  loading = 3,
  none,
  children,
}: {
  title: string
  /** What the button says that makes another one, and what it does; none for who may only look. */
  make: string
  onMake: (() => void) | false
  list: { readonly data: List | undefined; readonly error: unknown }
  /** How many rows are expected. */
  loading?: number
  /** What is said where there are none: its title, and advice. */
  none: readonly [title: string, advice: string]
  children: (list: List) => ReactNode
}) => (
  <Panel
    title={title}
    action={onMake === false ? undefined : <SmallButton onClick={onMake}>{make}</SmallButton>}
  >
    <Failed error={error} />
    {data === undefined ? (
      error === null && <Loading rows={loading} />
    ) : data.data.length === 0 ? (
      <Empty title={none[0]}>{none[1]}</Empty>
    ) : (
      children(data)
    )}
  </Panel>
)
