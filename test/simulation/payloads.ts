/** The signed payload of a payer in the simulation; nobody here checks the signature itself. */

type Signed = {
  /** The offer of the quote that is paid. */
  readonly accepted: any
  readonly from: string
  readonly nonce: string
  /** In seconds. */
  readonly validBefore: number
}

/** The payload of an `exact` or `upto` payment, as its offer says. */
export const payloadOf = ({ accepted, from, nonce, validBefore }: Signed) => ({
  signature: '0xab',
  ...(accepted.scheme === 'upto'
    ? { permit2Authorization: permitOf({ accepted, from, nonce, validBefore }) }
    : {
        authorization: {
          from,
          to: accepted.payTo,
          value: accepted.amount,
          nonce,
          validAfter: '0',
          validBefore: String(validBefore),
        },
      }),
})

const permitOf = ({ accepted, from, nonce, validBefore }: Signed) => ({
  from,
  permitted: { token: accepted.asset, amount: accepted.amount },
  spender: `0x${'d'.repeat(40)}`,
  nonce,
  deadline: String(validBefore),
  witness: { to: accepted.payTo, facilitator: accepted.extra.facilitatorAddress, validAfter: '0' },
})
