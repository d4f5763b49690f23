/** The box around every table. */
import type { ReactNode } from 'react'

/** A table that scrolls by itself on a narrow screen, also by keyboard. */
export const TableBox = ({
  children,
  wide = false,
  folds = false,
}: {
  children: ReactNode
  wide?: boolean
  /** On a narrow screen it is as wide as that. */
  folds?: boolean
}) => (
  <div
    className={`table-box${wide ? ' calls' : ''}${folds ? ' folds' : ''}`}
    tabIndex={0}
    role="group"
    aria-label="Table"
  >
    {children}
  </div>
)
