/** Recipes of libraries that pay call by call and need no key. Source: the packages' own documentation. */
import type { Recipe } from './recipe.ts'

const payer = (
  name: string,
  title: string,
  packages: readonly string[],
  wrap: readonly string[],
  more: { readonly variables: readonly string[]; readonly notes: readonly string[] } = {
    variables: [],
    notes: [],
  },
): Recipe => ({
  name,
  title,
  install: `npm install ${packages.join(' ')}`,
  calls: '/v1/chat/completions',
  model: 'openai/gpt-4.1',
  fill: ({ address, model }) => ({
    variables: [`export TURNPIKE_URL=${address}/v1`, 'export PAYER_KEY=0x…', ...more.variables],
    files: [
      {
        path: 'hello.mjs',
        language: 'js',
        text: [
          ...wrap,
          "const answer = await pay(process.env.TURNPIKE_URL + '/chat/completions', {",
          "  method: 'POST',",
          "  headers: { 'content-type': 'application/json' },",
          '  body: JSON.stringify({',
          `    model: '${model}',`,
          '    max_tokens: 200,',
          "    messages: [{ role: 'user', content: 'Say hello.' }],",
          '  }),',
          '})',
          'console.log((await answer.json()).choices[0].message.content)',
        ].join('\n'),
      },
    ],
    first: 'node hello.mjs',
  }),
  notes: [
    '`PAYER_KEY` is the private key of the wallet that pays, on a network of the server’s offers; it stays on this machine.',
    'The operator has to take payments call by call, see docs/payments.md. `max_tokens` bounds what a call is quoted.',
    ...more.notes,
  ],
})

export const payerRecipes: readonly Recipe[] = [
  payer(
    'x402',
    '@x402/fetch',
    ['@x402/fetch', '@x402/evm', 'viem'],
    [
      "import { registerExactEvmScheme } from '@x402/evm/exact/client'",
      "import { wrapFetchWithPayment, x402Client } from '@x402/fetch'",
      "import { privateKeyToAccount } from 'viem/accounts'",
      '',
      'const signer = privateKeyToAccount(process.env.PAYER_KEY)',
      'const pay = wrapFetchWithPayment(fetch, registerExactEvmScheme(new x402Client(), { signer }))',
    ],
  ),
  payer(
    'x402-fetch',
    'x402-fetch',
    ['x402-fetch', 'viem'],
    [
      "import { privateKeyToAccount } from 'viem/accounts'",
      "import { wrapFetchWithPayment } from 'x402-fetch'",
      '',
      'const pay = wrapFetchWithPayment(fetch, privateKeyToAccount(process.env.PAYER_KEY))',
    ],
  ),
  payer(
    'mppx',
    'mppx',
    ['mppx', 'viem'],
    [
      "import { evm, Mppx } from 'mppx/client'",
      "import { privateKeyToAccount } from 'viem/accounts'",
      '',
      'const account = privateKeyToAccount(process.env.PAYER_KEY)',
      'const { fetch: pay } = Mppx.create({ polyfill: false, methods: [evm.charge({ account, currencies: [evm.assets.base.USDC, evm.assets.baseSepolia.USDC] })] })',
    ],
  ),
  payer(
    'x402-vouchers',
    '@x402/evm with vouchers',
    ['@x402/fetch', '@x402/evm', 'viem'],
    [
      "import { toClientEvmSigner } from '@x402/evm'",
      "import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client'",
      "import { wrapFetchWithPayment, x402Client } from '@x402/fetch'",
      "import { createPublicClient, http } from 'viem'",
      "import { privateKeyToAccount } from 'viem/accounts'",
      '',
      'const chain = createPublicClient({ transport: http(process.env.PAYER_RPC) })',
      'const signer = toClientEvmSigner(privateKeyToAccount(process.env.PAYER_KEY), chain)',
      "const client = new x402Client().register('eip155:*', new BatchSettlementEvmScheme(signer))",
      'const pay = wrapFetchWithPayment(fetch, client)',
    ],
    {
      variables: ['export PAYER_RPC=https://…'],
      notes: [
        '`PAYER_RPC` is the address of a node of that network: the client reads its deposit there.',
        'The first call deposits five times its quote. Each later one carries a voucher and is charged what it cost; the deposit is filled up when it is used.',
      ],
    },
  ),
]
