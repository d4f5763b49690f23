/** Settings of payments by Stripe. */
import { amount, listOfSome, matching, secret } from './form.ts'
import type { SettingGroup } from './setting.ts'

export const stripeSettings = {
  key: {
    name: 'STRIPE_SECRET_KEY',
    is: secret(/^[a-z]+_(test|live)_\S+$/, 'a key such as sk_live_… or rk_test_…'),
    meaning:
      'Key of your Stripe account; together with STRIPE_WEBHOOK_SECRET it turns on payments of wallets and invoices by Stripe.',
  },
  webhookSecrets: {
    name: 'STRIPE_WEBHOOK_SECRET',
    is: listOfSome(
      secret(/^[^\s,]{8,}$/, 'a secret'),
      'a secret such as whsec_…, or several with commas between',
    ),
    meaning:
      'Signing secret of the webhook that points to /api/webhooks/stripe; several, separated by commas, while it changes. Empty turns Stripe off.',
  },
  baseUrl: {
    name: 'STRIPE_BASE_URL',
    is: matching(/^https?:\/\/[^\s/@?#]+$/, 'an address without a path'),
    fallback: 'https://api.stripe.com',
    meaning: "Address of Stripe's API; another one is for tests.",
  },
  returnUrl: {
    name: 'STRIPE_RETURN_URL',
    is: matching(/^https?:\/\/[^\s@#]+$/, 'an address'),
    meaning:
      'Your page that payers return to, with `checkout=<id>` in its query; without it they see the state of their checkout.',
  },
  topUpDailyMax: {
    name: 'TOP_UP_DAILY_USD',
    is: amount(),
    fallback: '500',
    meaning:
      'The most that the rule of one wallet charges its saved card in a UTC day; 0 turns such rules off.',
  },
} as const satisfies SettingGroup
