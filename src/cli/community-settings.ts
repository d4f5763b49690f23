/** Settings of what the house gives away: anonymous trials, referrals; and where strangers sign up. */
import { days, decimal, type Setting } from './setting.ts'

export const communitySettings = {
  SIGN_UP_URL: {
    name: 'SIGN_UP_URL',
    fallback: '',
    meaning: 'Page of yours where people get a key; told to callers whose trial has ended or cannot be had.',
    check: /^(|https?:\/\/[^\s@"]+)$/,
    allowed: 'an address',
  },
  TRIAL_USD: {
    name: 'TRIAL_USD',
    fallback: '0.2',
    meaning:
      'What an anonymous trial wallet is given at your cost, once for each network address; 0 turns trials off.',
    ...decimal,
  },
  TRIAL_DAILY_USD: {
    name: 'TRIAL_DAILY_USD',
    fallback: '2',
    meaning: 'What all anonymous trials of a UTC day are given together: the most they can cost you a day.',
    ...decimal,
  },
  TRIAL_DAYS: {
    name: 'TRIAL_DAYS',
    fallback: '7',
    meaning: 'How long an anonymous trial lasts.',
    ...days,
  },
  TRIAL_AGAIN_DAYS: {
    name: 'TRIAL_AGAIN_DAYS',
    fallback: '30',
    meaning: 'How long a network address waits for another trial; at least as long as one lasts.',
    ...days,
  },
  REFERRER_USD: {
    name: 'REFERRER_USD',
    fallback: '1',
    meaning: 'What an account is credited when another one claims its referral code.',
    ...decimal,
  },
  REFERRED_USD: {
    name: 'REFERRED_USD',
    fallback: '1',
    meaning: 'What the account that claims a referral code is credited.',
    ...decimal,
  },
} as const satisfies Record<string, Setting>
