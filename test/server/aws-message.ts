/** Amazon's binary messages, as a vendor writes them. */

/** Encodes one message as the vendor does. */
export const awsMessage = (headers: Readonly<Record<string, string>>, payload: string): Uint8Array => {
  const utf8 = new TextEncoder()
  const head = Object.entries(headers).flatMap(([name, value]) => {
    const bytes = utf8.encode(value)
    return [name.length, ...utf8.encode(name), 7, bytes.length >> 8, bytes.length & 255, ...bytes]
  })
  const body = utf8.encode(payload)
  const message = new Uint8Array(12 + head.length + body.length + 4)
  const view = new DataView(message.buffer)
  view.setUint32(0, message.length)
  view.setUint32(4, head.length)
  view.setUint32(8, Bun.hash.crc32(message.subarray(0, 8)))
  message.set(head, 12)
  message.set(body, 12 + head.length)
  view.setUint32(message.length - 4, Bun.hash.crc32(message.subarray(0, message.length - 4)))
  return message
}
