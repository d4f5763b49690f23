/** How passwords are stored: Argon2id with the lowest cost that OWASP recommends, 19 MiB and two passes. */

export const hashOfPassword = (password: string): Promise<string> =>
  Bun.password.hash(password, { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 })
