/** One row of the settings table, and the forms that several rows share. */

export type Setting = {
  readonly name: string
  readonly fallback: string
  readonly meaning: string
  readonly check: RegExp
  readonly allowed: string
  /** Never shown, not even when it is wrong. */
  readonly secret?: boolean
}

export const whole = /^\d{1,9}$/
export const days = /^[1-9]\d{0,3}$/
export const amount = /^\d{1,10}(\.\d{1,9})?$/
