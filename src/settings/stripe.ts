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
  networkId: {
    name: 'STRIPE_NETWORK_ID',
    is: matching(/^[A-Za-z0-9_-]{1,80}$/, 'a profile such as profile_…'),
    meaning:
      'Id of your Stripe profile, to which payers grant shared payment tokens: with it callers without a key pay by the method `stripe` of MPP. Needs Stripe and the `x402` section.',
  },
  paymentMethodTypes: {
    name: 'STRIPE_PAYMENT_METHODS',
    is: listOfSome(matching(/^[a-z0-9_]{1,40}$/, 'a type'), 'types such as card,link'),
    meaning: 'Types of payment methods that such payers may use; without it, card.',
  },
  topUpDailyMax: {
    name: 'TOP_UP_DAILY_USD',
    is: amount(),
    fallback: '500',
    meaning:
      'The most that the rule of one wallet charges its saved card in a UTC day; 0 turns such rules off.',
  },
} as const satisfies SettingGroup
