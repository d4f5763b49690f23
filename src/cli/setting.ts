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
export const amount = /^\d{1,10}(\.\d{1,9})?$/
/** What several settings allow. */
export const decimal = { check: amount, allowed: 'a decimal amount' }
export const days = { check: /^[1-9]\d{0,3}$/, allowed: 'a number of days of at least 1' }
export const seconds = { check: /^[1-9]\d{0,4}$/, allowed: 'a number of seconds' }
export const onOff = { check: /^(on|off)$/, allowed: 'on or off' }
