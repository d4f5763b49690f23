/** Who the caller's user is, as OpenAI's dialects take it. Source: OpenAI API, error "Invalid 'user': string too long. Expected a string with maximum length 64". */

const USER_MAX = 64

/** The user's name; a long one becomes its SHA-256 in hex, which is as stable and tells no more. */
export const shortUser = (user: string | undefined): string | undefined =>
  user === undefined || user.length <= USER_MAX
    ? user
    : new Bun.CryptoHasher('sha256').update(user).digest('hex')
