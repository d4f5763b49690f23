/** The states of what pages show. Apart from the other small parts: what is loaded first shows none. */
const states: Readonly<Record<string, readonly [string, string]>> = {
  enabled: ['var(--good)', 'Enabled'],
  disabled: ['var(--bad)', 'Disabled'],
  suspended: ['var(--bad)', 'Suspended'],
  spend_cap: ['var(--warn)', 'Cap reached'],
  monthly_cap: ['var(--warn)', 'Monthly cap reached'],
  expired: ['var(--off)', 'Expired'],
  deleted: ['var(--off)', 'Deleted'],
  ok: ['var(--good)', 'OK'],
  refused: ['var(--bad)', 'Refused'],
  failed: ['var(--bad)', 'Failed'],
  client_gone: ['var(--warn)', 'Caller left'],
  vendor_failed: ['var(--bad)', 'Vendor failed'],
  cost_ceiling: ['var(--warn)', 'Cost ceiling'],
  deadline: ['var(--warn)', 'Deadline'],
  ledger_away: ['var(--warn)', 'Ledger away'],
  recovered: ['var(--warn)', 'Recovered'],
  open: ['var(--warn)', 'Open'],
  past_due: ['var(--bad)', 'Past due'],
  paid: ['var(--good)', 'Paid'],
  credited: ['var(--off)', 'Taken back'],
  credit_note: ['var(--off)', 'Credit note'],
  nothing_due: ['var(--off)', 'Nothing due'],
  valid: ['var(--good)', 'Valid'],
  in_progress: ['var(--warn)', 'In progress'],
  cancelling: ['var(--warn)', 'Cancelling'],
  finalizing: ['var(--warn)', 'Finalizing'],
  completed: ['var(--good)', 'Completed'],
  cancelled: ['var(--off)', 'Cancelled'],
  queued: ['var(--off)', 'Queued'],
  running: ['var(--warn)', 'Running'],
  active: ['var(--good)', 'Active'],
  due: ['var(--warn)', 'Being sent'],
  sent: ['var(--good)', 'Sent'],
  given_up: ['var(--bad)', 'Given up'],
}

/** A state: a coloured dot beside its word, so that colour never stands alone. */
export const State = ({ of }: { of: string }) => {
  const [colour, word] = states[of] ?? ['var(--off)', of]
  return (
    <span className="state">
      <span className="dot" style={{ background: colour }} aria-hidden="true" />
      {word}
    </span>
  )
}
