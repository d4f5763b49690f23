/** How a vendor reports usage, where it differs from the dialect's own way. */
export type UsageQuirks = {
  /** Where a stream or an answer carries the usage; `top` is the dialect's usual place. */
  readonly usageAt?: 'top' | 'x_groq' | 'choice'
  /** True when `completion_tokens` leaves out the reasoning tokens. */
  readonly reasoningApart?: boolean
}
