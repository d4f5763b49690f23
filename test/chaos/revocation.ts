/** Revocation under load: once a PUT is answered, no process may admit a call of that key. */

export type Revocations = {
  readonly acknowledged: () => number
  readonly admittedAfter: () => number
  stop(): Promise<void>
}

const limits = (address: string, token: string, disabled: boolean) =>
  fetch(`${address}/v1/key/wholesale/me/limits`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ disabled }),
    signal: AbortSignal.timeout(10_000),
  })

const call = (address: string, token: string) =>
  fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'mock/m',
      max_tokens: 2,
      messages: [
        {
          role: 'user',
          content: JSON.stringify({ id: 'revoked', input: 1, output: 1, delayMs: 0, fail: '' }),
        },
      ],
    }),
    signal: AbortSignal.timeout(10_000),
  })

export const startRevocations = (
  addresses: readonly string[],
  token: string,
  random: () => number,
): Revocations => {
  let acknowledged = 0
  let admittedAfter = 0
  let running = true
  const round = async (): Promise<void> => {
    const through = addresses[Math.floor(random() * addresses.length)]!
    const put = await limits(through, token, true)
    if (put.status === 200) {
      acknowledged++
      const answers = await Promise.all(
        addresses.map((address) =>
          call(address, token).then(
            (answer) => answer.text().then(() => answer.status),
            () => 0,
          ),
        ),
      )
      admittedAfter += answers.filter((status) => status === 200).length
    }
    for (
      let tries = 0;
      tries < 20 &&
      (await limits(through, token, false).then(
        (answer) => answer.status,
        () => 0,
      )) !== 200;
      tries++
    )
      await Bun.sleep(200)
  }
  const loop = (async () => {
    while (running) {
      await round().catch(() => undefined)
      await Bun.sleep(100)
    }
  })()
  return {
    acknowledged: () => acknowledged,
    admittedAfter: () => admittedAfter,
    stop: async () => {
      running = false
      await loop
    },
  }
}
