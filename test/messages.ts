/** The messages of PostgreSQL's protocol after the first one: a letter, a length, and what it counts. */

/** Takes pieces of a stream of bytes, and passes on whole messages, each with its letter. */
export const messagesOf = (take: (type: string, message: Buffer) => void) => {
  let rest: Buffer = Buffer.alloc(0)
  return (bytes: Buffer): void => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= 5 && rest.length >= 1 + rest.readUInt32BE(1)) {
      const message = rest.subarray(0, 1 + rest.readUInt32BE(1))
      rest = rest.subarray(message.length)
      take(String.fromCharCode(message[0] ?? 0), message)
    }
  }
}
