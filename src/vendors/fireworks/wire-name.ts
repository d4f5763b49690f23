/** The names of models at Fireworks, which our price table has in a shorter form. */

const OWN = 'accounts/fireworks/models/'

/**
 * `kimi-k2.6` is `accounts/fireworks/models/kimi-k2p6` there; a name that begins with an account stays as it is. Sources: Fireworks AI
 * API reference, Create Chat Completion, `model`; the names that clients' public lists and code have for them, 2026-11. Not
 * verified: fast variants (`…-fast`).
 */
export const fireworksName = (name: string): string =>
  name.startsWith('accounts/') ? name : `${OWN}${name.replace(/(?<=\d)\.(?=\d)/g, 'p')}`
