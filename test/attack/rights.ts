/** Attacks on rights: what tenants try with keys that a reseller gave them, and a key after it was taken away. */
import { asked, type Check, chat, echo, must } from './check.ts'
import type { Target } from './target.ts'

const cheap = { cpuMs: 1_500, memoryMb: 120 } as const
const KEYS = '/v1/key/wholesale'

type Made = { readonly id: string; readonly token: string }
type Caller = Pick<Made, 'token'>
type Fields = Readonly<Record<string, unknown>>

/** A request with this key; its status. */
const by = async (
  it: Target,
  { token }: Caller,
  method: string,
  path: string,
  body?: object,
): Promise<number> => {
  const response = await fetch(it.address + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  await response.text()
  return response.status
}

/** A key below the operator's, or below the maker's. */
const newKey = async (it: Target, fields: Fields = {}, maker: Caller = it): Promise<Made> => {
  const response = await fetch(it.address + KEYS, {
    method: 'POST',
    headers: { authorization: `Bearer ${maker.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ label: 'attacker', ...fields }),
  })
  const { data } = (await response.json()) as { data: { id: string; key: string } }
  must(response.status === 201, `a key is made with ${response.status}`)
  return { id: data.id, token: data.key }
}

const limitsOf = ({ id }: Made): string => `${KEYS}/${id}/limits`

/** Everything a tenant may try with its own key against its account: each must be refused. */
const overreach: readonly [name: string, method: string, path: string, body?: object][] = [
  ["replaces the account's review", 'POST', '/api/reviews', { skill: 'local/echo-1', rating: 1 }],
  ["changes the wallet's rules", 'PUT', '/api/wallet/rules', { daily_limit_usd: 1 }],
  ["uses up the account's sub-wallets", 'POST', '/api/wallet/sub-wallets', { budget_usd: 1 }],
  ['makes keys', 'POST', KEYS, { label: 'x' }],
  ['raises its own rate', 'PUT', `${KEYS}/me/limits`, { rpm_limit: 1_000_000 }],
  ['lets itself manage', 'PUT', `${KEYS}/me/limits`, { can_manage: true }],
]

export const rights: readonly Check[] = [
  ...overreach.map(
    ([name, method, path, body]): Check => ({
      name: `a tenant ${name}`,
      run: async (it) => {
        const status = await by(it, await newKey(it, { rpm_limit: 60 }), method, path, body)
        must(status === 403, `it is answered ${status}`)
      },
      ...cheap,
    }),
  ),
  {
    name: 'a reseller that was switched off changes its tenants',
    run: async (it) => {
      const reseller = await newKey(it, { can_manage: true })
      const tenant = await newKey(it, {}, reseller)
      must(
        (await by(it, it, 'PUT', limitsOf(reseller), { disabled: true })) === 200,
        'it is not switched off',
      )
      for (const [method, path, body] of [
        ['PUT', limitsOf(tenant), { disabled: true }],
        ['DELETE', `${KEYS}/${tenant.id}`, undefined],
        ['POST', KEYS, { label: 'x' }],
      ] as const)
        must((await by(it, reseller, method, path, body)) === 403, `${method} ${path} is taken`)
      must((await by(it, tenant, 'POST', chat, echo('x'))) === 200, 'its tenant is not served')
    },
    ...cheap,
  },
  {
    name: 'a tenant changes a tenant beside it',
    run: async (it) => {
      const [one, other] = [await newKey(it, { can_manage: true }), await newKey(it)]
      for (const [method, path, body] of [
        ['PUT', limitsOf(other), { disabled: true }],
        ['DELETE', `${KEYS}/${other.id}`, undefined],
      ] as const)
        must([403, 404].includes(await by(it, one, method, path, body)), `${method} ${path} is taken`)
      must((await by(it, other, 'POST', chat, echo('x'))) === 200, 'the other is not served')
    },
    ...cheap,
  },
  {
    name: "a key's socket after the key was deleted",
    run: async (it) => {
      const key = await newKey(it)
      const socket = new WebSocket(`${it.address.replace('http', 'ws')}/v1/stream`, [
        `turnpike.key.${key.token}`,
      ])
      const closed = new Promise((resolve) => socket.addEventListener('close', resolve))
      await new Promise((resolve) => socket.addEventListener('open', resolve))
      must((await by(it, it, 'DELETE', `${KEYS}/${key.id}`)) === 200, 'the key is not deleted')
      await closed
      await asked(it, chat, echo('x'), 200)
    },
    ...cheap,
  },
]
