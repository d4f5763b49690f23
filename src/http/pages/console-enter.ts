/** POST /console/enter: the form by which the console of another cell sends somebody here. */
import { takeHandOver } from '../../console/cells/enter.ts'
import { consoleOf } from '../../console/open-console.ts'
import { originOfCall } from '../request/origin.ts'
import { readBody } from '../request/read-body.ts'
import type { Handler } from '../route/route.ts'
import { addressOf } from '../route/router.ts'

const FORM_BYTES_MAX = 8 * 1024
const FORM_TYPE = /^application\/x-www-form-urlencoded/i

/** Leads to the page that goes on, and says what is wrong if it cannot. */
export const postConsoleEnter: Handler = async (gateway, call) => {
  const { settings } = consoleOf(gateway)
  const text = new TextDecoder().decode(await readBody(gateway, call, FORM_BYTES_MAX, FORM_TYPE))
  const cookie = await takeHandOver(gateway, {
    handOver: new URLSearchParams(text).get('hand_over') ?? '',
    sentBy: call.request.headers.get('origin'),
    origin: settings.origin ?? new URL(addressOf(call.request)).origin,
    address: originOfCall(gateway, call),
  })
  return {
    status: 302,
    headers: { location: '/console/enter', 'cache-control': 'no-store' },
    body: new Uint8Array(),
    cookies: [cookie],
  }
}
